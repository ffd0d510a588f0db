package kubernetes

import (
	"cmp"
	"io/fs"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hotcell/hotcell/internal/gate"
	"github.com/hotcell/hotcell/internal/seal"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/demands"
)

// The names of a pod's containers.
const (
	cellContainer = "cell"
	initContainer = "trees"
)

// settings are what a driver adds to each of its pods.
type settings struct {
	image    string   // of the runner
	empty    []string // images for which that one stands in
	never    bool     // nodes pull nothing
	arch     string
	uid      int64 // of the cell
	disk     int64 // that a pod may take of its node's; 0: sandbox.PodDisk
	enforced bool
	accept   map[string]bool
	unloaded bool // nodes do not let the loader become the runner
}

// conversion is a spec on its way into a pod. Each control takes the fields it understands out of what is left.
type conversion struct {
	settings
	spec *sandbox.Spec
	left *demands.Left

	pod     *corev1.Pod
	cell    corev1.Container
	init    corev1.Container
	hello   seal.Hello
	load    fs.FS // has the runner, where the loader takes its place
	largest int64 // of its tmpfs, bytes

	lacking []lack
	without []string // the controls that it lacks and that are accepted
}

// plan is what a spec becomes: the pod, and what its gate is told.
type plan struct {
	pod     *corev1.Pod
	hello   seal.Hello // without its key
	load    fs.FS      // has the runner that the pod's loader is to become; nil: an init container makes the trees
	without []string
}

// convert says what pod a spec becomes. It is pure, and changes nothing that spec points to. Labels and owners are the
// caller's. The error wraps [sandbox.ErrUnsupported] and names the field.
func convert(spec *sandbox.Spec, s settings) (*plan, error) {
	left, err := demands.Of(spec)
	if err != nil {
		return nil, err
	}
	c := &conversion{settings: s, spec: spec, left: left}
	c.pod = &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: spec.Name},
	}
	c.cell.Name, c.init.Name = cellContainer, initContainer
	for _, control := range []func() error{
		c.identity, c.lifecycle, c.place, c.command, c.environment, c.user, c.privileges, c.seccomp, c.root, c.tmpfs, c.trees,
		c.imageVolumes, c.namespaces, c.sharedMemory, c.paths, c.memory, c.cpu, c.pids, c.rlimits, c.devices, c.settle,
	} {
		if err := control(); err != nil {
			return nil, err
		}
	}
	if err := left.Nothing(); err != nil {
		return nil, err
	}
	c.pod.Spec.Containers = []corev1.Container{c.cell}
	if c.load == nil {
		c.pod.Spec.InitContainers = []corev1.Container{c.init}
	}
	return &plan{c.pod, c.hello, c.load, c.without}, nil
}

// lifecycle: nobody but the driver starts, ends or repeats anything, and nothing of the cluster is told to the cell.
func (c *conversion) lifecycle() error {
	var none int64
	no := false
	s := &c.pod.Spec
	s.RestartPolicy = corev1.RestartPolicyNever
	s.TerminationGracePeriodSeconds = &none
	s.AutomountServiceAccountToken, s.EnableServiceLinks, s.ShareProcessNamespace = &no, &no, &no
	s.DNSPolicy = corev1.DNSNone
	s.DNSConfig = &corev1.PodDNSConfig{Nameservers: []string{"127.0.0.1"}}
	c.cell.Stdin, c.cell.StdinOnce = true, true
	c.init.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	return nil
}

const archSelector = "kubernetes.io/arch"

// place: a node whose programs the runner is made for. An image that is there is not asked for again: it is checked by its
// content when the cell runs.
func (c *conversion) place() error {
	c.pod.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "linux"}
	if c.arch != "" {
		c.pod.Spec.NodeSelector[archSelector] = c.arch
	}
	c.cell.ImagePullPolicy, c.init.ImagePullPolicy = corev1.PullIfNotPresent, corev1.PullIfNotPresent
	if c.never {
		c.cell.ImagePullPolicy, c.init.ImagePullPolicy = corev1.PullNever, corev1.PullNever
	}
	c.init.Image = c.image
	return nil
}

// command makes the gate the first program. What it runs is none of the cluster's business.
func (c *conversion) command() error {
	args, dir, err := c.left.Command()
	if err != nil {
		return err
	}
	c.cell.Command = []string{wall.RunnerPath, gate.Flag}
	c.cell.WorkingDir = dir
	c.hello.Args, c.hello.Dir = args, dir
	if args[0] == wall.RunnerPath {
		c.hello.Runner, c.hello.Args = true, args[1:]
	}
	return nil
}

// memory: the limit is the request too, so that nothing is promised twice and the pod never swaps.
func (c *conversion) memory() error {
	limit, err := c.left.Memory()
	if err != nil {
		return err
	}
	c.bound(corev1.ResourceMemory, *resource.NewQuantity(limit, resource.BinarySI))
	c.bound(corev1.ResourceEphemeralStorage, *resource.NewQuantity(cmp.Or(c.disk, sandbox.PodDisk), resource.BinarySI))
	return nil
}

func (c *conversion) bound(name corev1.ResourceName, q resource.Quantity) {
	for _, k := range []*corev1.Container{&c.cell, &c.init} {
		if k.Resources.Limits == nil {
			k.Resources.Limits, k.Resources.Requests = corev1.ResourceList{}, corev1.ResourceList{}
		}
		k.Resources.Limits[name], k.Resources.Requests[name] = q, q
	}
}

// cpu is a hard cap, and as much is set aside. A weight follows from that.
func (c *conversion) cpu() error {
	cpu, err := c.left.CPU()
	if err != nil {
		return err
	}
	if cpu.Quota == 0 {
		return unsupported("linux.resources.cpu.quota: must be set")
	}
	period := int64(cpu.Period)
	c.bound(corev1.ResourceCPU, *resource.NewMilliQuantity((cpu.Quota*1000+period-1)/period, resource.DecimalSI))
	return nil
}
