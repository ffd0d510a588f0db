package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/hotcell/hotcell/internal/a2e"
)

// The HTTP status of a call's answer tells its error's code, or its reason where that says more. docs/rest.md has the table.
var (
	statusOfCode = map[a2e.Code]int{
		a2e.ParseError:      http.StatusBadRequest,
		a2e.InvalidMessage:  http.StatusBadRequest,
		a2e.VersionMismatch: http.StatusBadRequest,
		a2e.SchemaViolation: http.StatusUnprocessableEntity,
		a2e.Unauthorized:    http.StatusForbidden,
		a2e.UnknownSkill:    http.StatusNotFound,
		a2e.SkillError:      http.StatusBadGateway,
		a2e.OutOfMemory:     http.StatusBadGateway,
		a2e.SandboxCrash:    http.StatusBadGateway,
		a2e.Timeout:         http.StatusGatewayTimeout,
		a2e.RuntimeError:    http.StatusInternalServerError,
	}
	statusOfReason = map[string]int{
		a2e.ReasonQuota:             http.StatusTooManyRequests,
		a2e.ReasonQueueFull:         http.StatusTooManyRequests,
		a2e.ReasonQueueTimeout:      http.StatusTooManyRequests,
		a2e.ReasonDraining:          http.StatusServiceUnavailable,
		a2e.ReasonEngineUnavailable: http.StatusServiceUnavailable,
		a2e.ReasonImageUnavailable:  http.StatusServiceUnavailable,
		a2e.ReasonStartFailed:       http.StatusServiceUnavailable,
		a2e.ReasonSupervisorRestart: http.StatusServiceUnavailable,
		a2e.ReasonToolUnavailable:   http.StatusServiceUnavailable,
		a2e.ReasonNodeLost:          http.StatusServiceUnavailable,
		a2e.ReasonEvicted:           http.StatusServiceUnavailable,
		a2e.ReasonPreempted:         http.StatusServiceUnavailable,
		a2e.ReasonCellDeleted:       http.StatusServiceUnavailable,
		a2e.ReasonUnschedulable:     http.StatusServiceUnavailable,
		a2e.ReasonClusterQuota:      http.StatusServiceUnavailable,
		a2e.ReasonUnsupported:       http.StatusNotImplemented,
		a2e.ReasonBlocked:           http.StatusNotImplemented,
		a2e.ReasonDuplicateID:       http.StatusConflict,
		a2e.ReasonCancelled:         http.StatusConflict,
	}
)

func statusOfCall(answer *a2e.CallResponse) int {
	if answer.Error == nil {
		return http.StatusOK
	}
	if s := statusOfReason[answer.Error.Reason()]; s != 0 {
		return s
	}
	if s := statusOfCode[answer.Error.Code]; s != 0 {
		return s
	}
	return http.StatusInternalServerError
}

// retryAfter says when to try again, to who is told to slow down: what the answer says, or a second.
func retryAfter(w http.ResponseWriter, answer *a2e.CallResponse) {
	s := statusOfCall(answer)
	if s != http.StatusTooManyRequests && (s != http.StatusServiceUnavailable || !answer.Error.Retryable) {
		return
	}
	seconds := int64(1)
	switch v := answer.Error.Detail["retry_after"].(type) {
	case int64:
		seconds = v
	case json.Number: // of an answer that was kept
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			seconds = n
		}
	}
	w.Header().Set("Retry-After", fmt.Sprint(max(1, seconds)))
}
