package host

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/audit"
)

// book keeps what it is told, or can't.
type book struct {
	kept []audit.Entry
	who  []audit.Actor
	fail error
}

func (b *book) Record(ctx context.Context, e audit.Entry) error {
	who, _ := audit.ActorOf(ctx)
	b.kept, b.who = append(b.kept, e), append(b.who, who)
	return b.fail
}

func TestRemovedImagesAreInTheAudit(t *testing.T) {
	all := []images.Verdict{{ID: "sha256:1", Ref: "r.example/a:1", Removed: true}, {ID: "sha256:2", Ref: "r.example/b:1", Kept: "in use"}}
	var b book
	if err := RecordPruned(t.Context(), &b, all); err != nil {
		t.Fatal(err)
	}
	want := []audit.Entry{{Kind: audit.ImageRemove, Data: map[string]any{"image": "r.example/a:1", "id": "sha256:1"}}}
	if diff := cmp.Diff(want, b.kept); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]audit.Actor{{Principal: "uid:" + strconv.Itoa(os.Getuid()), Door: operatorDoor}}, b.who); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.fail = errors.New("no room")
	if err := RecordPruned(t.Context(), &b, all); !errors.Is(err, b.fail) {
		t.Errorf("got %v, want that there is no room", err)
	}
}
