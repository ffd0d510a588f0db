package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// search looks for canaries in the places where a key could be left.
type search struct {
	t        *testing.T
	canaries []canary
}

// in looks through a text.
func (s *search) in(place string, text []byte) {
	s.t.Helper()
	for _, c := range s.canaries {
		for form, needle := range needles(c.value) {
			if i := bytes.Index(text, []byte(needle)); i >= 0 {
				s.t.Errorf("%s is in %s, as %s: …%.200q…", c.name, place, form, text[max(0, i-80):])
			}
		}
	}
}

// must looks through a text that has to hold some words: what is empty proves nothing.
func (s *search) must(place string, text []byte, words ...string) {
	s.t.Helper()
	s.in(place, text)
	for _, word := range words {
		if !bytes.Contains(text, []byte(word)) {
			s.t.Errorf("there is no %q in %s: %.2000s", word, place, text)
		}
	}
}

// folder looks through all files below a folder.
func (s *search) folder(place, dir string) (bytesRead int64) {
	s.t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // gone meanwhile, or no file
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		bytesRead += int64(len(b))
		s.in(place+": "+path, b)
		return nil
	})
	if err != nil {
		s.t.Error(err)
	}
	return bytesRead
}

// cells looks through what the engine tells and keeps of every living cell of a daemon, and through the cells' processes.
func (s *search) cells(d *daemon) {
	s.t.Helper()
	cells := 0
	for id, what := range owned(d.ID(s.t)) {
		if what != "cell running" {
			continue
		}
		var inspected json.RawMessage
		if err := engine(http.MethodGet, "/containers/"+id+"/json", nil, &inspected); err != nil {
			if !strings.Contains(err.Error(), "404 Not Found") { // it was that of the call before, and is gone
				s.t.Error(err)
			}
			continue
		}
		var cell struct{ State struct{ Pid int } }
		if err := json.Unmarshal(inspected, &cell); err != nil {
			s.t.Error(err)
		}
		s.must("what the engine says of a cell", inspected, id, "HOTCELL_TOKEN")
		if cell.State.Pid == 0 {
			continue // it is that of the call before, and on its way out
		}
		files, err := spoken(http.MethodGet, "/containers/"+id+"/export", nil)
		if err != nil && strings.Contains(err.Error(), "404 Not Found") {
			continue
		}
		if err != nil {
			s.t.Error(err)
		}
		s.must("the files of a cell", files, "etc/")
		s.processes(cell.State.Pid)
		cells++
	}
	if cells == 0 {
		s.t.Error("there is no living cell")
	}
	s.engine(d)
}

// engine looks through what the engine has on its disk of a daemon's containers and volumes.
func (s *search) engine(d *daemon) {
	s.t.Helper()
	var info struct{ DockerRootDir string }
	if err := engine(http.MethodGet, "/info", nil, &info); err != nil {
		s.t.Fatal(err)
	}
	read := int64(0)
	for id := range owned(d.ID(s.t)) {
		for _, sub := range []string{"containers", "volumes"} {
			read += s.folder("the engine's disk", filepath.Join(info.DockerRootDir, sub, id))
		}
	}
	if read == 0 {
		s.t.Errorf("nothing was read below the engine's %s", info.DockerRootDir)
	}
}

// processes looks through all processes that share the process namespace of one.
func (s *search) processes(first int) {
	s.t.Helper()
	space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", first))
	if err != nil {
		s.t.Fatal(err)
	}
	all, err := os.ReadDir("/proc")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, entry := range all {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid)); err == nil && its == space {
			s.process(pid, "a cell")
		}
	}
}

// process looks through one: how it was started, and the files without a name that it holds.
func (s *search) process(pid int, whose string) {
	s.t.Helper()
	for _, name := range []string{"environ", "cmdline", "comm", "mountinfo"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err == nil {
			s.in("/proc/PID/"+name+" of "+whose, b)
		}
	}
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		if info, err := os.Stat(fd); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if to, _ := os.Readlink(fd); !strings.HasSuffix(to, " (deleted)") {
			continue
		}
		if b, err := os.ReadFile(fd); err == nil {
			s.in("a file without a name of "+whose, b)
		}
	}
}

// pages looks through all that the daemon tells over HTTP, once a call has ended.
func (s *search) pages(d *daemon, call string) {
	s.t.Helper()
	for path, word := range map[string]string{
		"/metrics": "hotcell_calls_total", "/v1/calls": call, "/v1/calls/" + call: call, "/v1/calls/" + call + "/events": call,
	} {
		s.must(path, []byte(get(s.t, d.URL+path)), word)
	}
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json", "/debug/pprof/", "/debug/pprof/goroutine?debug=2", "/debug/vars", "/v1/audit"} {
		resp, err := http.Get(d.URL + path)
		if err != nil {
			s.t.Error(err)
			continue
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		s.in(path, b)
	}
}

// cores looks for core dumps where the kernel puts them.
func (s *search) cores(dirs ...string) {
	s.t.Helper()
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil {
		s.t.Fatal(err)
	}
	if to := strings.TrimSpace(string(pattern)); strings.HasPrefix(to, "/") {
		dirs = append(dirs, filepath.Dir(to))
	}
	for _, dir := range dirs {
		dumps, _ := filepath.Glob(filepath.Join(dir, "*core*"))
		for _, dump := range dumps {
			if b, err := os.ReadFile(dump); err == nil {
				s.in(dump, b)
			}
		}
	}
}
