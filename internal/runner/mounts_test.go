package runner

import (
	"errors"
	"strings"
	"testing"
)

func TestMountsAt(t *testing.T) {
	const good = `22 21 0:20 / / ro,relatime - overlay overlay ro
23 22 0:5 / /proc rw - proc proc rw
30 22 0:31 / /workspace rw,nosuid - tmpfs tmpfs rw
31 22 0:32 / /out rw,nosuid - tmpfs tmpfs rw
32 22 0:33 / /run/hotcell rw,nosuid - tmpfs tmpfs rw
33 22 254:1 /v/_data /skill ro - ext4 /dev/x rw
34 22 254:1 /w/_data /hotcell ro - ext4 /dev/x rw
`
	if err := mountsAt(good, places()); err != nil {
		t.Errorf("a cell as it should be: %v", err)
	}
	for _, place := range places() {
		moved := strings.Replace(good, " "+place+" ", " /etc ", 1)
		if err := mountsAt(moved, places()); !errors.Is(err, errMoved) {
			t.Errorf("%s at /etc: %v", place, err)
		}
	}
}
