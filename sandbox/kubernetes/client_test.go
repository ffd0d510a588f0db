package kubernetes

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What is named as a kubeconfig and is none is told at once, by its name.
func TestNoKubeconfig(t *testing.T) {
	dir := t.TempDir()
	pipe, empty := filepath.Join(dir, "pipe"), filepath.Join(dir, "empty")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir: dir + " is not a file", pipe: pipe + " is not a file", empty: "KUBECONFIG names " + empty + ",", filepath.Join(dir, "none"): "KUBECONFIG names " + dir + "/none,",
	} {
		t.Setenv("KUBECONFIG", path)
		said := make(chan error, 1)
		go func() {
			_, err := connect(Options{Namespace: "hotcell"}, time.Second)
			said <- err
		}()
		select {
		case err := <-said:
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", path, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: it is waited for", path)
		}
	}
}
