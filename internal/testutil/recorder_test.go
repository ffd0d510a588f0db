package testutil

import (
	"fmt"
	"runtime"
	"testing"
)

// recorder is a testing.TB that keeps what it is told instead of ending this test.
type recorder struct {
	testing.TB
	skip, fatal, err string
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(format string, args ...any) {
	r.skip = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.fatal = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Errorf(format string, args ...any) { r.err = fmt.Sprintf(format, args...) }

// record runs f as a test of its own would run: Fatal and Skip end it and nothing else.
func record(f func(*recorder)) *recorder {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
