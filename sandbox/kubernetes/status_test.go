package kubernetes

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/hotcell/hotcell/sandbox"
)

// What a cluster says of a pod that it has done something with, in the words of schedulers, kubelets and controllers.
func TestDisrupted(t *testing.T) {
	target := func(reason string) []corev1.PodCondition {
		return []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse},
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, Message: "its words"},
		}
	}
	for _, tt := range []struct {
		name   string
		status corev1.PodStatus
		kind   error // nil: nothing has happened
		says   string
	}{
		{"a pod that runs", corev1.PodStatus{Phase: corev1.PodRunning}, nil, ""},
		{"one that ended by itself", corev1.PodStatus{Phase: corev1.PodFailed}, nil, ""},
		{"no target after all", corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse, Reason: "EvictionByEvictionAPI"}}}, nil, ""},
		{"drained", corev1.PodStatus{Conditions: target("EvictionByEvictionAPI")}, went(sandbox.LossEvicted), "on node n1 was evicted, as when its node is drained: its words"},
		{"tainted", corev1.PodStatus{Conditions: target("DeletionByTaintManager")}, went(sandbox.LossEvicted), "which is tainted"},
		{"a node that is short of memory", corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory.", Conditions: target("TerminationByKubelet")},
			went(sandbox.LossEvicted), "was ended by its node: The node was low on resource: memory."},
		{"a node that is shut down", corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Terminated", Conditions: target("TerminationByKubelet")}, went(sandbox.LossEvicted), "was ended by its node"},
		{"preempted", corev1.PodStatus{Conditions: target("PreemptionByScheduler")}, went(sandbox.LossPreempted), "higher priority"},
		{"preempted by a kubelet", corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Preempting", Conditions: target("TerminationByKubelet")}, went(sandbox.LossPreempted), "higher priority"},
		{"a node that is gone", corev1.PodStatus{Phase: corev1.PodFailed, Conditions: target("DeletionByPodGC")}, went(sandbox.LossNode), "its node is gone"},
		{"a node that is lost", corev1.PodStatus{Reason: "NodeLost", Message: "no word"}, went(sandbox.LossNode), "its node n1 was lost: no word"},
		{"a word of a later version", corev1.PodStatus{Conditions: target("SomethingNew")}, went(sandbox.LossEvicted), "was disrupted (SomethingNew)"},
		{"too much disk", corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "Pod ephemeral local storage usage exceeds the total limit of containers 512Mi."},
			went(sandbox.LossDisk), "for what it has on the node's disk: Pod ephemeral local storage usage"},
		{"a node that filled up meanwhile", corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu", Message: "Pod was rejected"}, went(sandbox.LossUnschedulable), "its node n1 does not take it: OutOfcpu"},
		{"its cluster's deadline", corev1.PodStatus{Phase: corev1.PodFailed, Reason: "DeadlineExceeded"}, sandbox.ErrUnavailable, "outlived the deadline"},
		{"a node that cannot", corev1.PodStatus{Phase: corev1.PodFailed, Reason: "UnexpectedAdmissionError", Message: "a\nb"}, sandbox.ErrUnavailable, "failed: UnexpectedAdmissionError: a b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := disrupted(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "n1"}, Status: tt.status})
			if tt.kind == nil {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			if err == nil || !is(err, tt.kind) || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %v with %q", err, tt.kind, tt.says)
			}
			if !errors.Is(err, sandbox.ErrUnavailable) {
				t.Errorf("%v is not known as unavailable", err)
			}
		})
	}
}

// How a first program has ended says whose doing it was.
func TestGateError(t *testing.T) {
	for _, tt := range []struct {
		is    corev1.ContainerStateTerminated
		lost  bool // of no skill's doing
		start sandbox.StartError
	}{
		{is: corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}, lost: true},
		{is: corev1.ContainerStateTerminated{ExitCode: 1, Reason: reasonOOM}, start: sandbox.StartError{ExitCode: 1, OOM: true, Message: reasonOOM}},
		{is: corev1.ContainerStateTerminated{ExitCode: 137, Reason: reasonOOM}, start: sandbox.StartError{ExitCode: 137, OOM: true, Message: reasonOOM}},
		{is: corev1.ContainerStateTerminated{ExitCode: 128, Message: "no"}, start: sandbox.StartError{ExitCode: 126, Message: "no"}},
		{is: corev1.ContainerStateTerminated{ExitCode: 64}, start: sandbox.StartError{ExitCode: 64, Message: "its first program ended with exit code 64 before it was spoken to"}},
	} {
		err := gateError(&tt.is)
		var start *sandbox.StartError
		switch {
		case tt.lost != errors.Is(err, sandbox.ErrUnavailable), tt.lost == errors.As(err, &start):
			t.Errorf("%+v: %v", tt.is, err)
		case !tt.lost && *start != tt.start:
			t.Errorf("%+v: %+v, want %+v", tt.is, *start, tt.start)
		}
	}
}
