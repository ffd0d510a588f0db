package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
)

// problem is an error that is fit to be answered as it is.
type problem struct {
	status     int
	code       string // lower case; the skills API writes it in capitals
	message    string
	retryAfter int // seconds; 0: nothing is said
}

func (p *problem) Error() string { return p.code + ": " + p.message }

func problemf(status int, code, format string, args ...any) *problem {
	return &problem{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

// invalid is a request that can't be understood, in the words of the skills API.
func invalid(format string, args ...any) *catalog.Error {
	return &catalog.Error{Code: catalog.ValidationError, Message: fmt.Sprintf(format, args...)}
}

// badArgument is the same in the words of the calls API.
func badArgument(err error) *problem {
	return problemf(http.StatusBadRequest, "invalid_argument", "%v", err)
}

// statusOf is the HTTP status of each code of the skills API. What is not here is no code of ours.
var statusOf = map[catalog.Code]int{
	catalog.SkillNotFound:     http.StatusNotFound,
	catalog.SkillFileNotFound: http.StatusNotFound,
	catalog.FileNotFound:      http.StatusNotFound,
	catalog.FileTooLarge:      http.StatusUnprocessableEntity, // 413 where a file is read
	catalog.ValidationError:   http.StatusUnprocessableEntity,
	catalog.SkillInvalid:      http.StatusUnprocessableEntity,
	catalog.Forbidden:         http.StatusForbidden,
	catalog.NameTaken:         http.StatusConflict,
	catalog.NameReserved:      http.StatusConflict,
	catalog.NoPrevious:        http.StatusConflict,
	catalog.LimitReached:      http.StatusUnprocessableEntity,
	catalog.TooManyFiles:      http.StatusUnprocessableEntity,
	catalog.TotalSize:         http.StatusUnprocessableEntity,
	catalog.DescriptionLong:   http.StatusUnprocessableEntity,
	catalog.AgentNotFound:     http.StatusNotFound,
	catalog.AgentTaken:        http.StatusConflict,
	catalog.AgentInUse:        http.StatusConflict,
	catalog.ToolNotFound:      http.StatusNotFound,
	catalog.ApprovalNotFound:  http.StatusNotFound,
	catalog.ApprovalDecided:   http.StatusConflict,
	catalog.VersionNotFound:   http.StatusNotFound,
	catalog.BundleInvalid:     http.StatusUnprocessableEntity,
	catalog.Conflict:          http.StatusPreconditionFailed,
}

// failed answers with what an error means to a client. What is not classified goes to the log alone.
func (a *api) failed(w http.ResponseWriter, r *http.Request, err error) {
	var known *catalog.Error
	var own *problem
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &known) && statusOf[known.Code] != 0:
		failKnown(w, r, known)
	case errors.As(err, &own):
		if own.retryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(own.retryAfter))
		}
		fail(w, r, own.status, own.code, own.message)
	case errors.As(err, &large):
		fail(w, r, http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body is larger than %d bytes", large.Limit))
	case errors.Is(err, control.ErrNotFound):
		fail(w, r, http.StatusNotFound, "not_found", control.ErrNotFound.Error())
	case errors.Is(err, control.ErrEnded):
		fail(w, r, http.StatusConflict, "ended", control.ErrEnded.Error())
	case errors.Is(err, control.ErrElsewhere):
		fail(w, r, http.StatusConflict, "elsewhere", control.ErrElsewhere.Error())
	case r.Context().Err() != nil: // the client has gone
		fail(w, r, http.StatusServiceUnavailable, "cancelled", "the request was cancelled")
	default:
		a.log.Error("request", "method", r.Method, "path", r.URL.Path, "err", err)
		fail(w, r, http.StatusInternalServerError, "internal", "internal error")
	}
}

// knownBody is an error of the skills API. Data is there where the code has findings.
type knownBody struct {
	Error errorDetail   `json:"error"`
	Data  *findingsBody `json:"data,omitempty"`
}

type findingsBody struct {
	Errors   []catalog.Finding `json:"errors"`
	Warnings []catalog.Finding `json:"warnings"`
}

func failKnown(w http.ResponseWriter, r *http.Request, e *catalog.Error) {
	status := statusOf[e.Code]
	if e.Code == catalog.FileTooLarge && r.Method == http.MethodGet {
		status = http.StatusRequestEntityTooLarge
	}
	b := knownBody{Error: errorDetail{string(e.Code), e.Message}}
	if e.Code == catalog.SkillInvalid || e.Code == catalog.BundleInvalid {
		b.Data = &findingsBody{Errors: listed(e.Errors), Warnings: listed(e.Warnings)}
	}
	reply(w, status, b)
}

// skillsAPI reports whether a request is one of the API whose codes are in capitals.
func skillsAPI(r *http.Request) bool {
	p := r.URL.Path
	return strings.HasPrefix(p, "/api/v1/") || p == "/v1/skills" || strings.HasPrefix(p, "/v1/skills/")
}

// doorName is this door in the journal.
const doorName = "http"

// caller is who makes a request, in the words of the catalog.
func caller(ctx context.Context) a2e.Caller { return auth.FromContext(ctx).Caller(doorName) }

// listed makes no elements [] and not null.
func listed[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
