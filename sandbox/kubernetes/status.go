package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hotcell/hotcell/internal/gate"
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
			return unplaced, lostf(sandbox.LossUnschedulable, "no node of the cluster takes it: %s", oneLine(c.Message))
		}
	}
	return waiting, nil
}

// gateError is for a gate, or a loader, that has ended before its program was to start: one that had been reached and then found nobody
// there did as it should.
func gateError(t *corev1.ContainerStateTerminated) error {
	if t.ExitCode == gate.ExitHangup && t.Reason != reasonOOM {
		return fmt.Errorf("the connection to it broke off before its program could start: %w", sandbox.ErrUnavailable)
	}
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

// disrupted says what the cluster has done to a pod: none of it is the skill's doing, but for one that takes too much disk.
func disrupted(pod *corev1.Pod) error {
	where := ""
	if pod.Spec.NodeName != "" {
		where = " on node " + pod.Spec.NodeName
	}
	said := oneLine(pod.Status.Message)
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			loss, what := disruption(c.Reason, pod.Status.Reason)
			return lostf(loss, "its pod%s %s: %s", where, what, oneLine(cmpWords(said, c.Message)))
		}
	}
	switch reason := pod.Status.Reason; {
	case reason == "":
		return nil
	case reason == reasonEvicted: // for what the node lacks there is a condition, too
		return lostf(sandbox.LossDisk, "its pod%s was evicted for what it has on the node's disk: %s", where, said)
	case reason == "NodeLost":
		return lostf(sandbox.LossNode, "its node%s was lost: %s", strings.TrimPrefix(where, " on node"), said)
	case reason == "DeadlineExceeded":
		return fmt.Errorf("its pod%s outlived the deadline that the cluster has for it: %w", where, sandbox.ErrUnavailable)
	case pod.Status.Phase != corev1.PodFailed:
		return nil
	case strings.HasPrefix(reason, "OutOf"), slices.Contains([]string{"NodeAffinity", "TaintToleration", "NodeShutdown"}, reason): // the scheduler did not know that yet
		return lostf(sandbox.LossUnschedulable, "its node%s does not take it: %s: %s", strings.TrimPrefix(where, " on node"), reason, said)
	}
	return fmt.Errorf("its pod%s failed: %s: %s: %w", where, pod.Status.Reason, said, sandbox.ErrUnavailable)
}

// reasonEvicted and reasonPreempting are a kubelet's words in a pod's status.
const (
	reasonEvicted    = "Evicted"
	reasonPreempting = "Preempting"
)

// disruption reads the reason of the condition by which a cluster announces what it does to a pod.
func disruption(reason, status string) (loss sandbox.Loss, what string) {
	switch {
	case reason == "PreemptionByScheduler", reason == "TerminationByKubelet" && status == reasonPreempting:
		return sandbox.LossPreempted, "was preempted by one of a higher priority"
	case reason == "EvictionByEvictionAPI":
		return sandbox.LossEvicted, "was evicted, as when its node is drained"
	case reason == "TerminationByKubelet":
		return sandbox.LossEvicted, "was ended by its node"
	case reason == "DeletionByTaintManager":
		return sandbox.LossEvicted, "was taken off its node, which is tainted"
	case reason == "DeletionByPodGC":
		return sandbox.LossNode, "was collected, as its node is gone"
	}
	return sandbox.LossEvicted, "was disrupted (" + reason + ")"
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
