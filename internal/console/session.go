package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/auth"
)

// Bounds of sessions. They live in memory: after a restart people sign in again.
const (
	maxSessions    = 1024
	maxOwnSessions = 16
	sessionIdle    = 12 * time.Hour
	sessionAge     = 7 * 24 * time.Hour
	cookieName     = "hotcell_console"
)

// session is a browser that is signed in. The token is asked about with each request, so a revoked one is good for nothing.
type session struct {
	token     auth.Secret
	principal string
	begun     time.Time
	seen      time.Time
}

// sessions are those of all browsers, by the cookie's value.
type sessions struct {
	mu  sync.Mutex
	all map[string]*session
	now func() time.Time
}

func newSessions() *sessions { return &sessions{all: map[string]*session{}, now: time.Now} }

// open signs a browser in. It takes the place of the session that was used longest ago where there are too many.
func (s *sessions) open(token auth.Secret, principal string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.room(principal, maxOwnSessions)
	s.room("", maxSessions)
	id := randomID()
	s.all[id] = &session{token: token, principal: principal, begun: now, seen: now}
	return id
}

// room makes room for one more session, of a principal or of all.
func (s *sessions) room(principal string, most int) {
	n, oldest, now := 0, "", s.now()
	for id, one := range s.all {
		switch {
		case one.over(now):
			delete(s.all, id)
		case principal == "" || one.principal == principal:
			if n++; oldest == "" || one.seen.Before(s.all[oldest].seen) {
				oldest = id
			}
		}
	}
	if n >= most {
		delete(s.all, oldest)
	}
}

func (s *session) over(now time.Time) bool {
	return now.Sub(s.seen) > sessionIdle || now.Sub(s.begun) > sessionAge
}

// token returns that of a session, and whether there is one.
func (s *sessions) token(id string) (auth.Secret, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[id]
	if one == nil {
		return auth.Secret{}, false
	}
	now := s.now()
	if one.over(now) {
		delete(s.all, id)
		return auth.Secret{}, false
	}
	one.seen = now
	return one.token, true
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
}

func randomID() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// cookie returns the value of the console's cookie, "" where there is none that could be ours.
func cookie(r *http.Request) string {
	c, err := r.Cookie(cookieName)
	if err != nil || len(c.Value) != 43 {
		return ""
	}
	return c.Value
}

func setCookie(w http.ResponseWriter, r *http.Request, value string) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: Base, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	})
}

// identify finds out who asks, by the Authorization header or by the session, and gives a browser without a cookie one.
func (v *visit) identify() error {
	id := cookie(v.r)
	if id == "" {
		id = randomID()
		setCookie(v.w, v.r, id)
	}
	v.mark = v.markOf(id)
	if v.o.Auth == nil {
		v.who, v.known = auth.Nobody(), true
		return nil
	}
	token, brought := headerToken(v.r)
	if !brought {
		token, v.signed = v.sessions.token(id)
	}
	who, err := v.o.Auth.Authenticate(v.r.Context(), auth.Credentials{Bearer: token})
	switch {
	case err == nil:
		v.who, v.known = who, true
		return nil
	case errors.Is(err, auth.ErrMissing), errors.Is(err, auth.ErrRefused), errors.Is(err, auth.ErrAgent):
		if v.signed { // and not a token that came beside it
			v.sessions.end(id)
		}
		v.signed = false
		return errSignIn
	}
	return err
}

// headerToken returns the bearer token of a client that is no browser, or of a proxy that signs in for people.
func headerToken(r *http.Request) (auth.Secret, bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); token == "" || !strings.EqualFold(scheme, "Bearer") {
		return auth.Secret{}, false
	}
	return auth.NewSecret(token), true
}

// browses reports whether a browser sent a request, as far as that shows.
func browses(r *http.Request) bool {
	return cookie(r) != "" || r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
}

// markOf is what forms of a browser carry. Other sites can neither read it nor make it.
func (c *Console) markOf(cookie string) string {
	h := hmac.New(sha256.New, c.key)
	h.Write([]byte(cookie))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// genuine reports whether a write comes from a page of ours. What brings a token of its own and nothing that browsers send is none
// that was led astray; a browser whose token a proxy adds has the mark as all others.
func (v *visit) genuine() bool {
	if _, ok := headerToken(v.r); ok && v.who.Principal != "" && !browses(v.r) {
		return true
	}
	got := v.r.Header.Get("X-CSRF-Token")
	if got == "" {
		got = v.r.PostFormValue("csrf")
	}
	return hmac.Equal([]byte(got), []byte(v.mark))
}
