package kubernetes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A pod that is made again under its name is not taken for gone because the end of the first one is heard of late.
func TestTheEndOfAnotherPodOfTheSameName(t *testing.T) {
	pod := func(uid, version string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: types.UID(uid), ResourceVersion: version}}
	}
	s := &sight{changed: make(chan struct{}, 1)}
	s.see(pod("first", "7"), true) // before it is known which pod is looked at
	s.made(pod("second", "6"))
	s.see(pod("first", "8"), true)
	if seen, gone := s.look(); gone || seen.UID != "second" {
		t.Errorf("sees %s, gone: %v", seen.UID, gone)
	}
	s.see(pod("second", "9"), true)
	if _, gone := s.look(); !gone {
		t.Error("its own end is not seen")
	}
}

// What was heard of a pod before its making was acknowledged counts.
func TestTheEndOfAPodThatIsHeardOfFirst(t *testing.T) {
	s := &sight{changed: make(chan struct{}, 1)}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "only", ResourceVersion: "7"}}
	s.see(pod, true)
	s.made(pod)
	if _, gone := s.look(); !gone {
		t.Error("it is taken for alive")
	}
}
