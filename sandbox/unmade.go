package sandbox

import "errors"

// unmade is an error of [Driver.Create] after which nothing is there.
type unmade struct{ error }

func (u unmade) Unwrap() error { return u.error }

// Unmade says of an error of [Driver.Create] that it is known to have left nothing: the engine made nothing, or has confirmed
// that it is gone. Where an engine's answer was lost that is not known. A nil error stays nil.
func Unmade(err error) error {
	if err == nil {
		return nil
	}
	return unmade{err}
}

// IsUnmade reports whether an error was marked so.
func IsUnmade(err error) bool {
	var u unmade
	return errors.As(err, &u)
}
