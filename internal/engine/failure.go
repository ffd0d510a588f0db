package engine

import "fmt"

// Failure is how a skill fails: what its caller reads. Code is a word of lower-case letters, digits and _.
type Failure struct {
	Code    string
	Message string
	Final   bool // another try cannot help
}

func (f *Failure) Error() string { return f.Message }

// Failf makes a failure that another try may mend.
func Failf(code, format string, args ...any) *Failure {
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Finalf makes a failure that another try cannot mend.
func Finalf(code, format string, args ...any) *Failure {
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...), Final: true}
}

// The codes that both engines use.
const (
	CodeCancelled  = "cancelled"      // the process was asked to stop
	CodeBadRequest = "bad_request"    // there was no request that can be read
	CodeInternal   = "engine_failure" // a fault of the engine
)
