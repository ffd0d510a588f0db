package a2ehost

import (
	"errors"
	"net/http"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
)

// sessionHeader names the session of a request.
const sessionHeader = "X-Session-Id"

// bearer returns the token of a request. What is there and is no bearer token is one that is refused.
func bearer(r *http.Request) auth.Secret {
	all := r.Header.Values("Authorization")
	if len(all) == 0 {
		return auth.Secret{}
	}
	scheme, token, _ := strings.Cut(all[0], " ")
	token = strings.TrimLeft(token, " ")
	if len(all) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return auth.NewSecret("none")
	}
	return auth.NewSecret(token)
}

// anonymous reports whether nobody has to show anything.
func (w *Web) anonymous(r *http.Request) bool {
	a := w.host.opt.Auth
	if a == nil {
		return true
	}
	_, err := a.Authenticate(r.Context(), auth.Credentials{})
	return !errors.Is(err, auth.ErrMissing)
}

// newcomer finds out who opens a session: nobody known, where a token is wanted and will come with the handshake. header:
// each request of the session has to show one.
func (w *Web) newcomer(rw http.ResponseWriter, r *http.Request) (id auth.Identity, known, header, ok bool) {
	token, anonymous := bearer(r), w.anonymous(r)
	if token.Empty() && !anonymous {
		return id, false, false, true
	}
	id, why := w.host.identify(r.Context(), claim{header: token})
	if why != nil {
		w.unidentified(rw, why)
		return id, false, false, false
	}
	return id, true, !anonymous, true
}

// session finds the session of a request and whether whoever makes it may use it, and answers if not. It returns the token
// of the request.
func (w *Web) session(rw http.ResponseWriter, r *http.Request) (ws *webSession, token auth.Secret, ok bool) {
	ids := r.Header.Values(sessionHeader)
	if len(ids) != 1 || ids[0] == "" {
		refuse(rw, http.StatusBadRequest, "session_missing", "Missing X-Session-Id")
		return nil, token, false
	}
	token = bearer(r)
	if token.Empty() {
		return w.unnamed(rw, ids[0])
	}
	id, why := w.host.identify(r.Context(), claim{header: token}) // before the session is looked for: the answer tells nothing of it
	if why != nil {
		w.unidentified(rw, why)
		return nil, token, false
	}
	if ws = w.table.find(ids[0]); ws == nil {
		notFound(rw)
		return nil, token, false
	}
	switch err := w.table.claim(ws, id, !w.anonymous(r)); {
	case errors.Is(err, errFull):
		w.busy(rw, tooMany)
	case err != nil:
		notFound(rw)
	default:
		return ws, token, true
	}
	return nil, token, false
}

// unnamed is session for a request without a token.
func (w *Web) unnamed(rw http.ResponseWriter, id string) (*webSession, auth.Secret, bool) {
	ws := w.table.find(id)
	if ws == nil {
		notFound(rw)
		return nil, auth.Secret{}, false
	}
	if _, header := ws.owned(); header {
		rw.Header().Set("WWW-Authenticate", challenge)
		refuse(rw, http.StatusUnauthorized, "unauthenticated", auth.ErrMissing.Error()+": send it as Authorization: Bearer TOKEN")
		return nil, auth.Secret{}, false
	}
	return ws, auth.Secret{}, true
}

const challenge = `Bearer realm="hotcell"`

// unidentified answers a request with a token that opens nothing.
func (w *Web) unidentified(rw http.ResponseWriter, why *a2e.Error) {
	if why.Code == a2e.Unauthorized {
		rw.Header().Set("WWW-Authenticate", challenge+`, error="invalid_token"`)
		refuse(rw, http.StatusUnauthorized, "unauthenticated", why.Message)
		return
	}
	refuse(rw, http.StatusServiceUnavailable, "unavailable", why.Message)
}

const tooMany = "too many sessions are open already: close one, or try again later"

// handshaken gives a session to who has shown a token in its handshake, unless it is another's.
func (w *Web) handshaken(ws *webSession, id auth.Identity, c claim) error {
	plain := id
	plain.Agent = "" // a handshake may name any that the token is not bound against
	if err := w.table.claim(ws, plain, false); err != nil {
		return err
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.owner.agent = id.Agent
	if !c.shown.Bearer.Empty() {
		ws.claim = &c
	}
	return nil
}
