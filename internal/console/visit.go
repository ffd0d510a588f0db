package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

// door is this door's name in what is told of calls.
const door = "console"

// visit is one request for a page.
type visit struct {
	*Console
	w      http.ResponseWriter
	r      *http.Request
	who    auth.Identity
	mark   string // against forged requests
	known  bool   // who asks
	signed bool   // in with a token, in this browser
}

// serving makes a page a handler: it finds out who asks, refuses whom it must, and shows errors.
func (c *Console) serving(p page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{Console: c, w: w, r: r}
		if err := v.enter(p); err != nil {
			v.failed(err)
		}
	})
}

func (v *visit) enter(p page) error {
	err := v.identify()
	if p.scope != "" {
		switch {
		case err != nil:
			return err
		case !v.who.May(p.scope):
			return &trouble{status: http.StatusForbidden, title: "Not for this token", message: "Its scopes do not include " + string(p.scope) + ", which this page needs."}
		case p.people && v.who.Agent != "":
			return &trouble{status: http.StatusForbidden, title: "Not for an agent", message: "This token speaks for the agent " + v.who.Agent + ". People decide about this, with a token of their own."}
		}
	}
	if writes(v.r.Method) {
		if err := v.readForm(); err != nil {
			return err
		}
	}
	if writes(v.r.Method) && !v.genuine() {
		return &trouble{status: http.StatusForbidden, title: "This form is too old", message: "It was made before you signed in, or before hotcell was started anew. Go back, load the page again, and send it again."}
	}
	give, ok := v.requests.Take(v.who.Principal, 1)
	if !ok {
		return busy()
	}
	defer give()
	v.r = v.r.WithContext(auth.NewContext(v.r.Context(), v.who))
	return p.serve(v)
}

func writes(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

// readForm reads the form of a write. One that can't be read to its end is refused: what is missing would count as taken away.
func (v *visit) readForm() error {
	err := v.r.ParseForm()
	if err == nil {
		if err = v.r.ParseMultipartForm(MaxBody); errors.Is(err, http.ErrNotMultipart) {
			err = nil
		}
	}
	var large *http.MaxBytesError
	if err == nil || errors.As(err, &large) {
		return err
	}
	return wrong("The form can't be read to its end, so nothing was done. Go back, load the page again, and send it again.")
}

// reading waits for a place to read what calls said and gave.
func (v *visit) reading() (leave func(), err error) {
	ctx, cancel := context.WithTimeout(v.ctx(), readWait)
	defer cancel()
	leave, ok := v.reads.Wait(ctx, v.who.Principal, 1)
	if !ok {
		return nil, busy()
	}
	return leave, nil
}

func busy() *trouble {
	return &trouble{status: http.StatusServiceUnavailable, title: "Busy", message: "Too many pages are being served to this principal at the moment. Try again in a moment."}
}

// htmx reports whether a script asks for a part of a page. On the way back in its history it wants all of it.
func (v *visit) htmx() bool {
	return v.r.Header.Get("HX-Request") == "true" && v.r.Header.Get("HX-History-Restore-Request") != "true"
}

// ctx is the request's context, which carries who asks.
func (v *visit) ctx() context.Context { return v.r.Context() }

// caller is who asks, in the words of catalogs and handlers.
func (v *visit) caller() a2e.Caller { return v.who.Caller(door) }

// calls is the control over the calls that the one who asks may see: admins all, others their own.
func (v *visit) calls() control.Control {
	if v.who.May(auth.Admin) {
		return v.o.Control
	}
	return v.o.Control.Of(v.who.Principal)
}

// whose says the same to a [control.Book].
func (v *visit) whose() control.Whose {
	if v.who.May(auth.Admin) {
		return control.Whose{}
	}
	return control.Only(v.who.Principal)
}

// query returns a parameter of the address, at most most bytes of it.
func (v *visit) query(name string, most int) string {
	return clip(strings.TrimSpace(v.r.URL.Query().Get(name)), most)
}

// form returns a field of the form, as it was sent.
func (v *visit) form(name string) string { return v.r.PostFormValue(name) }

// number returns a path value that is a number above 0; 0 is none.
func (v *visit) number(name string) int64 {
	n, err := strconv.ParseInt(v.r.PathValue(name), 10, 64)
	if err != nil || n < 1 {
		return 0
	}
	return n
}

// done sends the browser to another page of the console after something was done. notice is a key of [notices], "" for none.
func (v *visit) done(to, notice string) error {
	if notice != "" {
		u, err := url.Parse(to)
		if err != nil {
			return err
		}
		q := u.Query()
		q.Set("done", notice)
		u.RawQuery = q.Encode()
		to = u.String()
	}
	if v.htmx() {
		v.w.Header().Set("HX-Redirect", to)
		v.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// patient lifts the listener's deadline off an answer that may take up to limit.
func (v *visit) patient(limit time.Duration) {
	c := http.NewResponseController(v.w)
	_ = c.SetReadDeadline(time.Time{}) // a test's recorder has none
	_ = c.SetWriteDeadline(time.Now().Add(limit))
}

// at joins escaped parts to a path of the console.
func at(parts ...string) string {
	var b strings.Builder
	b.WriteString(Base)
	for _, p := range parts {
		b.WriteString("/" + url.PathEscape(p))
	}
	return b.String()
}

// clip cuts a text at a rune.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xc0 == 0x80 {
		most--
	}
	return s[:most]
}

var errSignIn = errors.New("not signed in")
