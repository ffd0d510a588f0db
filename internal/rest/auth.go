package rest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

// needs lets only those through who have a scope, and puts who it is into the request's context. No principal may have so many
// requests under way that nobody else finds a connection.
func (a *api) needs(s auth.Scope, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id, err := a.who(r)
		if err == nil && !id.May(s) {
			err = auth.ErrScope
		}
		if err != nil {
			a.refuse(w, r, s, err)
			return
		}
		done, ok := a.requests.Take(id.Principal, 1)
		if !ok {
			w.Header().Set("Retry-After", strconv.Itoa(busyFor))
			fail(w, r, http.StatusServiceUnavailable, "busy", "too many requests of this principal are being served already: try again later")
			return
		}
		defer done()
		next(w, r.WithContext(auth.NewContext(r.Context(), id)))
	}
}

// who finds out who makes a request.
func (a *api) who(r *http.Request) (auth.Identity, error) {
	if a.auth == nil {
		return auth.Nobody(), nil
	}
	return a.auth.Authenticate(r.Context(), auth.Credentials{Bearer: bearer(r)})
}

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

// refuse answers who may not be let in, in the words of RFC 6750.
func (a *api) refuse(w http.ResponseWriter, r *http.Request, s auth.Scope, err error) {
	const challenge = `Bearer realm="hotcell"`
	switch {
	case errors.Is(err, auth.ErrMissing):
		w.Header().Set("WWW-Authenticate", challenge)
		fail(w, r, http.StatusUnauthorized, codeUnauthenticated, auth.ErrMissing.Error()+": send it as Authorization: Bearer TOKEN")
	case errors.Is(err, auth.ErrRefused), errors.Is(err, auth.ErrAgent):
		w.Header().Set("WWW-Authenticate", challenge+`, error="invalid_token"`)
		fail(w, r, http.StatusUnauthorized, codeUnauthenticated, auth.ErrRefused.Error())
	case errors.Is(err, auth.ErrScope):
		w.Header().Set("WWW-Authenticate", challenge+`, error="insufficient_scope", scope="`+string(s)+`"`)
		fail(w, r, http.StatusForbidden, codeForbidden, auth.ErrScope.Error()+": it needs "+string(s))
	case r.Context().Err() != nil:
		fail(w, r, http.StatusServiceUnavailable, "cancelled", "the request was cancelled")
	default:
		a.log.Error("authenticate", "method", r.Method, "path", r.URL.Path, "err", err)
		fail(w, r, http.StatusServiceUnavailable, "unavailable", "tokens can't be checked at the moment")
	}
}

// The codes of refusals.
const (
	codeUnauthenticated = "unauthenticated"
	codeForbidden       = "forbidden"
)

// calls is the control over what the one who asks may see: admins all calls, others their own.
func (a *api) calls(ctx context.Context) control.Control {
	if p, only := whose(ctx).One(); only {
		return a.control.Of(p)
	}
	return a.control
}

// whose calls the one who asks may see.
func whose(ctx context.Context) control.Whose {
	id := auth.FromContext(ctx)
	if id.May(auth.Admin) {
		return control.Whose{}
	}
	return control.Only(id.Principal)
}
