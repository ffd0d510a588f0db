package sandbox

import (
	"errors"
	"fmt"
	"testing"
)

func TestUnmade(t *testing.T) {
	if err := Unmade(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
	plain := fmt.Errorf("full: %w", ErrUnavailable)
	marked := fmt.Errorf("create: %w", Unmade(plain))
	if !IsUnmade(marked) || !errors.Is(marked, ErrUnavailable) || marked.Error() != "create: "+plain.Error() {
		t.Errorf("%v: marked %v", marked, IsUnmade(marked))
	}
	if IsUnmade(plain) || IsUnmade(nil) {
		t.Error("an error that nobody marked is marked")
	}
}
