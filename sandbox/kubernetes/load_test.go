package kubernetes

import (
	"log/slog"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
)

// Only a loader that has ended as one that may not become the runner has pods be made without one: an image can have its node refuse to
// start anything at all.
func TestRefusedLoader(t *testing.T) {
	ended := func(code int32) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: cellContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}},
		}}}
	}
	for _, tt := range []struct {
		name    string
		status  corev1.PodStatus
		plain   bool // without a loader
		refused bool
	}{
		{"a loader that may not", ended(exitNotExecutable), false, true},
		{"a loader that was left alone", ended(1), false, false},
		{"a gate without a loader", ended(exitNotExecutable), true, false},
		{"a pod that does not start", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: cellContainer, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "RunContainerError", Message: "permission denied"}},
		}}}, false, false},
		{"a pod of which nothing is known", corev1.PodStatus{}, false, false},
	} {
		d := &Driver{log: slog.New(slog.DiscardHandler), api: &api{}}
		p := &plan{load: fstest.MapFS{}}
		if tt.plain {
			p.load = nil
		}
		c := newCell(d, &corev1.Pod{}, &sight{pod: &corev1.Pod{Status: tt.status}, changed: make(chan struct{}, 1)}, p)
		if c.refusedLoader() != tt.refused || d.loaderRefused() != tt.refused {
			t.Errorf("%s: want %v", tt.name, tt.refused)
		}
	}
}

// What a cluster and its pods say is shown to people.
func TestOneLineSteersNoTerminal(t *testing.T) {
	if got := oneLine("a \x1b[2J\x07b\n\u202ec\u200b\u009b d é"); got != "a [2Jb c d é" {
		t.Errorf("%q", got)
	}
}
