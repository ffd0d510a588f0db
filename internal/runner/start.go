package runner

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/hotcell/hotcell/internal/wall"
)

// Exit codes of a command that did not start, as shells have them.
const (
	cannotStart = 126
	notFound    = 127
)

const maxStartError = 1024 // bytes

// startError says why a command did not start.
type startError struct {
	code int
	text string
}

func (e *startError) Error() string { return e.text }

// start writes the request's file, starts the skill's process unless it runs already, and hands the request over.
func (l *life) start(early *child, request []byte) (*child, error) {
	if err := create(l.cfg.path(wall.RequestPath), 0o400, request); err != nil {
		return early, err
	}
	c := early
	if c == nil {
		var err error
		if c, err = l.launch(environment(l.cfg.Env, request)); err != nil {
			return nil, err
		}
	}
	c.feed(request)
	return c, nil
}

// launch starts the skill's process in a session of its own.
func (l *life) launch(env []string) (*child, error) {
	if err := os.MkdirAll(l.cfg.path(wall.DirInput), 0o700); err != nil {
		return nil, err
	}
	command := l.cfg.Args.Command
	dir := l.cfg.path(wall.DirWorkspace)
	program, err := lookup(command[0], l.cfg.Env, dir)
	if err != nil {
		return nil, err
	}
	p, err := openPipes()
	if err != nil {
		return nil, err
	}
	defer p.closeFar()
	pid, err := syscall.ForkExec(program, command, &syscall.ProcAttr{
		Dir:   dir,
		Env:   env,
		Files: p.far(),
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		p.closeNear()
		return nil, execError(command[0], err)
	}
	l.pid.Store(int64(pid))
	preferForOOM(pid)
	return newChild(pid, l.initial, p), nil
}

// preferForOOM makes the kernel take the skill and not the runner when the cell's memory is used up. Raising the score
// needs no privilege; where it fails, the larger process goes first, which is the skill.
func preferForOOM(pid int) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("1000"), 0)
}

// environment adds what the request alone says: its correlation id, and its place in a trace.
func environment(env []string, request []byte) []string {
	var r struct {
		ID       string `json:"correlation_id"`
		Metadata struct {
			Parent any `json:"traceparent"`
			State  any `json:"tracestate"`
		} `json:"metadata"`
	}
	if json.Unmarshal(request, &r) != nil {
		return env
	}
	env = env[:len(env):len(env)]
	if fits(r.ID) {
		env = append(env, wall.EnvCorrelate+"="+r.ID)
	}
	if parent, _ := r.Metadata.Parent.(string); wall.TraceParent(parent) {
		env = append(env, wall.EnvTraceParent+"="+parent)
		if state, _ := r.Metadata.State.(string); fits(state) {
			env = append(env, wall.EnvTraceState+"="+state)
		}
	}
	return env
}

// fits reports whether a text can be a variable's value, and is one of a length that nobody minds.
func fits(s string) bool {
	const most = 1024
	return s != "" && len(s) <= most && strings.IndexByte(s, 0) < 0
}

// lookup finds a program as a shell does: a name with a slash is a path, seen from dir, another one is searched in PATH.
func lookup(name string, env []string, dir string) (string, error) {
	if strings.Contains(name, "/") {
		if bad := executable(name, dir); bad != nil {
			return "", bad
		}
		return name, nil
	}
	search := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			search = v
		}
	}
	err := error(&startError{notFound, "command " + strconv.Quote(name) + " not found in PATH (" + search + ")"})
	for _, d := range filepath.SplitList(search) {
		if !filepath.IsAbs(d) {
			continue
		}
		candidate := filepath.Join(d, name)
		switch bad := executable(candidate, dir); {
		case bad == nil:
			return candidate, nil
		case bad.code == cannotStart:
			err = bad
		}
	}
	return "", err
}

// executable reports what is wrong with a program's file, nil when nothing is.
func executable(name, dir string) *startError {
	file := name
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	const execute = 1 // X_OK
	what := "command " + strconv.Quote(name)
	fi, err := os.Stat(file)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return &startError{notFound, what + ": no such file"}
	case err != nil:
		return &startError{cannotStart, what + ": " + err.Error()}
	case fi.IsDir():
		return &startError{cannotStart, what + " is a directory"}
	case syscall.Access(file, execute) != nil:
		return &startError{cannotStart, what + " is not executable: give it mode 755, or name its interpreter in run.command"}
	}
	return nil
}

// execError says in plain words why the kernel refused a program that is there.
func execError(name string, err error) error {
	what := "command " + strconv.Quote(name)
	switch {
	case errors.Is(err, syscall.ENOENT):
		return &startError{notFound, what + ": its interpreter is not in the image (the first line's #!, or the dynamic loader)"}
	case errors.Is(err, syscall.ENOEXEC):
		return &startError{cannotStart, what + " is no program for this machine; a script needs #! on its first line"}
	case errors.Is(err, syscall.E2BIG):
		return &startError{cannotStart, what + ": its arguments and environment are too large"}
	}
	return &startError{cannotStart, what + ": " + err.Error()}
}
