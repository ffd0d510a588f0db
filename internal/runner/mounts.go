package runner

import (
	"errors"
	"os"
	"strings"

	"github.com/hotcell/hotcell/internal/wall"
)

// errMoved is the answer to an image that has a symbolic link where a cell's own directories belong: the engine follows
// it inside the image, so that the directories appear elsewhere, writable where all is read-only.
var errMoved = errors.New("the image has a symbolic link at or above " + strings.Join(places(), ", ") + ", so that one of them lies elsewhere")

// places are the directories that an engine mounts into every cell.
func places() []string {
	return []string{wall.DirWorkspace, wall.DirOut, wall.DirRun, wall.DirSkill, wall.DirRunner}
}

// checkMounts makes sure that the cell's own directories are mounted where they belong. A kernel that does not tell, and a
// process that is not in a cell, have nothing to check.
func checkMounts(cfg Config) error {
	if cfg.Root != "" {
		return nil
	}
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	return mountsAt(string(table), places())
}

// mountsAt looks for each place among the mount points of a mountinfo table, whose fifth field they are.
func mountsAt(table string, places []string) error {
	at := map[string]bool{}
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) > 4 {
			at[fields[4]] = true
		}
	}
	for _, place := range places {
		if !at[place] {
			return errMoved
		}
	}
	return nil
}
