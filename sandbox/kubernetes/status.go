package kubernetes

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hotcell/hotcell/sandbox"
)

// stage is how far a pod has come.
type stage int

const (
	waiting  stage = iota // for a node, for images, for its trees
	unplaced              // no node takes it as things are
	running               // its gate waits
	over                  // it will not come to anything any more
)

// progress says how far a pod has come on its way to a waiting gate, and why it will not get there. A pod for which no node
// has room is unplaced, which may change.
func progress(pod *corev1.Pod) (stage, error) {
	if err := disrupted(pod); err != nil {
		return over, err
	}
	for _, s := range pod.Status.InitContainerStatuses {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
			return over, fmt.Errorf("its trees could not be unpacked: %s: %w", oneLine(cmpWords(t.Message, t.Reason)), sandbox.ErrUnavailable)
		}
		if err := stuck(s, true); err != nil {
			return over, err
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		switch {
		case s.State.Running != nil:
			return running, nil
		case s.State.Terminated != nil:
			return over, gateError(s.State.Terminated)
		}
		if err := stuck(s, false); err != nil {
			return over, err
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return unplaced, fmt.Errorf("no node of the cluster takes it: %s: %w", oneLine(c.Message), sandbox.ErrUnavailable)
		}
	}
	return waiting, nil
}

// gateError is for a gate that has ended before anybody spoke with it.
func gateError(t *corev1.ContainerStateTerminated) error {
	e := &sandbox.StartError{ExitCode: int(t.ExitCode), OOM: t.Reason == reasonOOM, Message: oneLine(cmpWords(t.Message, t.Reason))}
	if e.Message == "" {
		e.Message = fmt.Sprintf("its first program ended with exit code %d before it was spoken to", t.ExitCode)
	}
	if e.ExitCode == 128 { // a runtime's word for: it could not be started
		e.ExitCode = 126
	}
	return e
}

// reasonOOM is a kubelet's word for a container of which the kernel has killed a process for memory.
const reasonOOM = "OOMKilled"

// stuck says why a container that waits will go on to do so. runner: it is the init container, whose image is hotcell's own.
func stuck(s corev1.ContainerStatus, runner bool) error {
	w := s.State.Waiting
	if w == nil {
		return nil
	}
	text := oneLine(cmpWords(w.Message, w.Reason))
	switch w.Reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		if runner {
			return fmt.Errorf("its node does not get the runner's image %s (kubernetes.runner_image): %s: %w", s.Image, text, sandbox.ErrUnavailable)
		}
		return fmt.Errorf("its node does not get image %s: %s: %s: %w", s.Image, w.Reason, text, sandbox.ErrNotFound)
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return &sandbox.StartError{ExitCode: startCode(text), OOM: strings.Contains(text, "OOM-killed"), Message: text}
	}
	return nil
}

// startCode reads a runtime's words.
func startCode(text string) int {
	switch {
	case strings.Contains(text, "permission denied"), strings.Contains(text, "exec format error"):
		return 126
	case strings.Contains(text, "no such file or directory"), strings.Contains(text, "executable file not found"):
		return 127
	}
	return 0
}

// disrupted says what the cluster has done to a pod: none of it is the skill's doing.
func disrupted(pod *corev1.Pod) error {
	where := ""
	if pod.Spec.NodeName != "" {
		where = " on node " + pod.Spec.NodeName
	}
	for _, c := range pod.Status.Conditions {
		if c.Type != corev1.DisruptionTarget || c.Status != corev1.ConditionTrue {
			continue
		}
		what := map[string]string{
			"PreemptionByScheduler":  "was preempted by one of a higher priority",
			"EvictionByEvictionAPI":  "was evicted, as when its node is drained",
			"TerminationByKubelet":   "was ended by its node",
			"DeletionByTaintManager": "was taken off its node, which is tainted",
			"DeletionByPodGC":        "was collected, as its node is gone",
		}[c.Reason]
		if what == "" {
			what = "was disrupted (" + c.Reason + ")"
		}
		return fmt.Errorf("its pod%s %s: %s: %w", where, what, oneLine(cmpWords(pod.Status.Message, c.Message)), sandbox.ErrUnavailable)
	}
	switch pod.Status.Reason {
	case "":
		return nil
	case "Evicted":
		return fmt.Errorf("its pod%s was evicted: %s: %w", where, oneLine(pod.Status.Message), sandbox.ErrUnavailable)
	case "NodeLost":
		return fmt.Errorf("its node%s was lost: %s: %w", strings.TrimPrefix(where, " on node"), oneLine(pod.Status.Message), sandbox.ErrUnavailable)
	case "DeadlineExceeded":
		return fmt.Errorf("its pod%s outlived the deadline that the cluster has for it: %w", where, sandbox.ErrUnavailable)
	}
	if pod.Status.Phase == corev1.PodFailed {
		return fmt.Errorf("its pod%s failed: %s: %s: %w", where, pod.Status.Reason, oneLine(pod.Status.Message), sandbox.ErrUnavailable)
	}
	return nil
}

// ending is the end of a cell's container in a pod's status, nil while it has not ended.
func ending(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == cellContainer {
			return s.State.Terminated
		}
	}
	return nil
}

func cmpWords(first, second string) string {
	if strings.TrimSpace(first) != "" {
		return first
	}
	return second
}
