package a2e

import "time"

// Failure answers the call reqID of the skill name with e, which stands both in error and in data (protocols decision
// 6). Took is how long the skill ran, 0 when it never started.
func Failure(reqID, name string, e *Error, took time.Duration) *CallResponse {
	now := Now()
	code := string(e.Code)
	return &CallResponse{
		Header:    Header{Type: TypeCallResponse, ID: NewID(), Version: Version, TS: now},
		ReqID:     reqID,
		Name:      name,
		Data:      &Result{Error: &e.Message, ErrorCode: &code, DurationMS: Milliseconds(took)},
		Error:     e,
		CreatedAt: now,
	}
}

// ErrorReport makes the error message for the request reqID, which may be "" when it is not known.
func ErrorReport(reqID string, e *Error) *ErrorMessage {
	return &ErrorMessage{
		ReqID: reqID, Code: e.Code, Message: e.Message, Detail: e.Detail, Retryable: e.Retryable, CapabilityName: "skill",
	}
}

// Milliseconds returns d in whole milliseconds, rounded half up and never negative.
func Milliseconds(d time.Duration) int64 {
	return max(0, (d + time.Millisecond/2).Milliseconds())
}
