package warm

import (
	"io"
	"testing"
	"testing/synctest"

	"github.com/hotcell/hotcell/internal/outflow"
)

// Who reads a leased cell reads its stream without a detour: what read it while the cell waited has let go before the cell
// says anything.
func TestTheReaderOfALeaseReadsTheStreamItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := outflow.New()
		tp := newTap(stream, func([]byte) {}, func() {})
		go tp.pump()
		synctest.Wait()
		if !tp.pass([]byte("ready\n")) {
			t.Fatal("the stream has ended")
		}
		got := make(chan string)
		go func() {
			all, err := io.ReadAll(tp)
			if err != nil {
				t.Error(err)
			}
			got <- string(all)
		}()
		synctest.Wait()
		select {
		case <-tp.handed:
		default:
			t.Error("the pump still waits")
		}
		if _, err := stream.Write([]byte("word\n")); err != nil {
			t.Fatal(err)
		}
		stream.Finish(io.EOF)
		if all := <-got; all != "ready\nword\n" {
			t.Errorf("got %q", all)
		}
	})
}
