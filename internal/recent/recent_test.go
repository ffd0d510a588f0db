package recent

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var v Value[string]
		if v.Get(0) != nil || v.Get(time.Second) != nil {
			t.Error("it knows something from the beginning")
		}
		word := "x"
		v.Put(&word)
		time.Sleep(time.Second)
		if got := v.Get(time.Second); got != &word {
			t.Errorf("a second later: %v", got)
		}
		time.Sleep(time.Nanosecond)
		if v.Get(time.Second) != nil {
			t.Error("what is older than a second is given")
		}
		if v.Get(0) != &word {
			t.Error("what is old is not given though it is asked for")
		}
		v.Put(nil)
		if v.Get(0) != nil {
			t.Error("what is forgotten is given")
		}
	})
}
