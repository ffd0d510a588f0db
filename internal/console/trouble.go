package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
)

// trouble is an error that is shown to whoever asked.
type trouble struct {
	status         int
	title, message string
	findings       []catalog.Finding
}

func (t *trouble) Error() string { return t.message }

// wrong is a form or an address that can't be taken: which field, and what was expected.
func wrong(message string) *trouble {
	return &trouble{status: http.StatusBadRequest, title: "This can't be taken", message: message}
}

// nowhere answers for all paths that are none.
func (v *visit) nowhere() error {
	return &trouble{status: http.StatusNotFound, title: "No such page", message: "There is nothing at this address. The menu leads to everything that there is."}
}

// failed shows an error.
func (v *visit) failed(err error) {
	if errors.Is(err, errSignIn) {
		v.toLogin()
		return
	}
	t := v.troubleOf(err)
	if t.status == http.StatusServiceUnavailable {
		v.w.Header().Set("Retry-After", "1")
	}
	if v.htmx() {
		v.w.Header().Set("HX-Retarget", "#notice")
		v.w.Header().Set("HX-Reswap", "innerHTML")
		err = v.partAs(t.status, "trouble", "notice", t)
	} else {
		err = v.renderAs(t.status, "trouble", t.title, t)
	}
	if err != nil {
		v.o.Log.Error("console: an error could not be shown", "path", v.r.URL.Path, "error", err)
	}
}

// toLogin leads to the sign-in page, and back from there.
func (v *visit) toLogin() {
	next := Base + "/"
	if v.r.Method == http.MethodGet && !v.htmx() {
		next = v.r.URL.RequestURI()
	}
	to := Base + "/login?next=" + url.QueryEscape(next)
	switch {
	case v.htmx():
		v.w.Header().Set("HX-Redirect", to)
		v.w.WriteHeader(http.StatusUnauthorized)
	case v.r.Header.Get("Accept") == eventStream:
		http.Error(v.w, "not signed in", http.StatusUnauthorized)
	default:
		http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	}
}

// Title and Message are what is shown.
func (t *trouble) Title() string { return t.title }

// Message says what is wrong and what to do.
func (t *trouble) Message() string { return t.message }

// Findings are what is wrong with a skill.
func (t *trouble) Findings() []catalog.Finding { return t.findings }

// troubleOf puts an error into words. What nobody classified is in the log alone.
func (v *visit) troubleOf(err error) *trouble {
	var t *trouble
	var refused *catalog.Error
	var fault *control.Fault
	var large *http.MaxBytesError
	var unmade *a2e.Error
	switch {
	case errors.As(err, &t):
		return t
	case errors.As(err, &refused):
		return &trouble{status: statusOf(refused.Code), title: "Not done", message: refused.Message, findings: append(refused.Errors, refused.Warnings...)}
	case errors.As(err, &fault):
		return &trouble{status: http.StatusConflict, title: "Not done", message: fault.Message}
	case errors.As(err, &unmade):
		return &trouble{status: http.StatusUnprocessableEntity, title: "Not started", message: unmade.Message}
	case errors.As(err, &large):
		return &trouble{status: http.StatusRequestEntityTooLarge, title: "Too large", message: "The form carries more than 2 MiB."}
	case errors.Is(err, control.ErrNotFound):
		return &trouble{status: http.StatusNotFound, title: "No such call", message: "No call has this id. It may be somebody else's, or older than calls are kept."}
	case errors.Is(err, control.ErrNoSkill):
		return &trouble{status: http.StatusNotFound, title: "No such skill", message: "No skill has this name, or it is somebody else's."}
	case errors.Is(err, control.ErrCursor):
		return &trouble{status: http.StatusNotFound, title: "No such page", message: "This page of the list is gone. Begin again at its start."}
	case errors.Is(err, control.ErrEnded):
		return &trouble{status: http.StatusConflict, title: "It has ended", message: "The call has ended meanwhile, so there is nothing to cancel."}
	case errors.Is(err, control.ErrElsewhere):
		return &trouble{status: http.StatusConflict, title: "It runs elsewhere", message: "The call runs in another hotcell process that shares this journal: cancel it there."}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &trouble{status: http.StatusServiceUnavailable, title: "It took too long", message: "Try again in a moment."}
	}
	v.o.Log.Error("console: page", "method", v.r.Method, "path", v.r.URL.Path, "error", err)
	return &trouble{status: http.StatusInternalServerError, title: "It did not work", message: "Something failed inside hotcell; its log says what."}
}

// lost says why a part of a page could not be had, for the place where it would stand; "": it could.
func (v *visit) lost(err error) string {
	if err == nil {
		return ""
	}
	return v.troubleOf(err).message
}

func statusOf(code catalog.Code) int {
	switch code {
	case catalog.SkillNotFound, catalog.SkillFileNotFound, catalog.FileNotFound, catalog.AgentNotFound, catalog.ToolNotFound, catalog.ApprovalNotFound, catalog.VersionNotFound:
		return http.StatusNotFound
	case catalog.Forbidden:
		return http.StatusForbidden
	case catalog.NameTaken, catalog.NameReserved, catalog.NoPrevious, catalog.AgentTaken, catalog.AgentInUse, catalog.ApprovalDecided:
		return http.StatusConflict
	case catalog.Conflict:
		return http.StatusPreconditionFailed
	}
	return http.StatusUnprocessableEntity
}
