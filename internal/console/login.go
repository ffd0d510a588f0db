package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/hotcell/hotcell/internal/auth"
)

func (c *Console) loginPages() []page {
	return []page{
		{pattern: "GET " + Base + "/login", serve: (*visit).login},
		{pattern: "POST " + Base + "/login", serve: (*visit).signIn},
		{pattern: "POST " + Base + "/logout", serve: (*visit).signOut},
	}
}

// loginView is the sign-in page.
type loginView struct {
	Next  string // where to go afterwards
	Fault string
}

func (v *visit) login() error {
	next := inside(v.query("next", 2000))
	if v.known {
		return v.done(next, "")
	}
	return v.render("login", "Sign in", loginView{Next: next})
}

// signIn takes a token. It is in no address, and the page never shows it.
func (v *visit) signIn() error {
	next := inside(v.form("next"))
	if v.known && !v.signed {
		return v.done(next, "") // nobody has to
	}
	token := auth.NewSecret(strings.TrimSpace(v.form("token")))
	who, err := v.o.Auth.Authenticate(v.ctx(), auth.Credentials{Bearer: token})
	switch {
	case err == nil && !token.Empty():
		v.sessions.end(cookie(v.r))
		setCookie(v.w, v.r, v.sessions.open(token, who.Principal))
		return v.done(next, "")
	case err == nil, errors.Is(err, auth.ErrMissing):
		return v.renderAs(http.StatusUnauthorized, "login", "Sign in", loginView{next, "Paste a token: hotcell tokens create makes one."})
	case errors.Is(err, auth.ErrRefused), errors.Is(err, auth.ErrAgent):
		v.o.Log.Warn("console: a sign-in was refused", "from", v.r.RemoteAddr)
		return v.renderAs(http.StatusUnauthorized, "login", "Sign in", loginView{next, "This token is not known, has expired or was revoked."})
	}
	return err
}

func (v *visit) signOut() error {
	v.sessions.end(cookie(v.r))
	setCookie(v.w, v.r, randomID())
	return v.done(Base+"/login", "")
}

// inside returns the path of a page of the console, whatever was asked for: nobody is sent elsewhere.
func inside(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || strings.ContainsAny(next, "\\\r\n\t") ||
		!strings.HasPrefix(u.Path, Base+"/") || strings.Contains(u.Path, "..") || strings.Contains(u.Path, "//") {
		return Base + "/"
	}
	return u.RequestURI()
}
