package kubernetes

import (
	"io/fs"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hotcell/hotcell/internal/gate"
	"github.com/hotcell/hotcell/internal/seal"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
	specs "github.com/opencontainers/runtime-spec/specs-go"
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
	enforced bool
	accept   map[string]bool
	unloaded bool // nodes do not let the loader become the runner
}

// conversion is a spec on its way into a pod. Each control takes the fields it understands out of oci; what is left at the
// end is something that the driver would silently ignore, and is refused instead.
type conversion struct {
	settings
	spec    *sandbox.Spec
	oci     specs.Spec
	process specs.Process
	linux   specs.Linux

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
	if spec.OCI == nil || spec.OCI.Process == nil || spec.OCI.Linux == nil || spec.OCI.Root == nil {
		return nil, unsupported("spec of %q: process, root and linux must be set", spec.Name)
	}
	c := &conversion{settings: s, spec: spec, oci: *spec.OCI, process: *spec.OCI.Process, linux: *spec.OCI.Linux}
	c.oci.Process, c.oci.Linux = nil, nil
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
	c.oci.Process, c.oci.Linux = &c.process, &c.linux
	if field := leftover(reflect.ValueOf(c.oci), ""); field != "" {
		return nil, unsupported("%s", field)
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
	p := &c.process
	if len(p.Args) == 0 || p.Args[0] == "" {
		return unsupported("process.args: is empty, and the image's own command is never run")
	}
	if !cleanAbs(p.Cwd) {
		return unsupported("process.cwd %q: expected a clean absolute path", p.Cwd)
	}
	c.cell.Command = []string{wall.RunnerPath, gate.Flag}
	c.cell.WorkingDir = p.Cwd
	c.hello.Args, c.hello.Dir = p.Args, p.Cwd
	if p.Args[0] == wall.RunnerPath {
		c.hello.Runner, c.hello.Args = true, p.Args[1:]
	}
	p.Args, p.Cwd = nil, ""
	return nil
}

// memory: the limit is the request too, so that nothing is promised twice and the pod never swaps.
func (c *conversion) memory() error {
	if c.linux.Resources == nil {
		return unsupported("linux.resources: must be set")
	}
	r := *c.linux.Resources
	if r.Memory == nil || r.Memory.Limit == nil || *r.Memory.Limit <= 0 {
		return unsupported("linux.resources.memory.limit: must be set")
	}
	m := *r.Memory
	if m.Swap != nil && *m.Swap != *m.Limit {
		return unsupported("linux.resources.memory.swap: must be equal to the limit, which means no swap")
	}
	c.bound(corev1.ResourceMemory, *resource.NewQuantity(*m.Limit, resource.BinarySI))
	c.bound(corev1.ResourceEphemeralStorage, *resource.NewQuantity(diskLimit, resource.BinarySI))
	m.Limit, m.Swap = nil, nil
	r.Memory = &m
	c.linux.Resources = &r
	return nil
}

// diskLimit is how much of its node's disk a pod may take: its trees, and what the kubelet keeps of its sealed output.
const diskLimit = 512 << 20

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
	if c.linux.Resources.CPU == nil {
		return unsupported("linux.resources.cpu: must be set")
	}
	cpu := *c.linux.Resources.CPU
	if cpu.Quota == nil || *cpu.Quota <= 0 {
		return unsupported("linux.resources.cpu.quota: must be set")
	}
	period := int64(100_000)
	if cpu.Period != nil && *cpu.Period > 0 {
		period = int64(min(*cpu.Period, 1_000_000))
	}
	milli := (*cpu.Quota*1000 + period - 1) / period
	c.bound(corev1.ResourceCPU, *resource.NewMilliQuantity(milli, resource.DecimalSI))
	cpu.Quota, cpu.Period, cpu.Shares = nil, nil, nil
	c.linux.Resources.CPU = &cpu
	return nil
}

// leftover returns the path of the first field that is set, "" if none is. Pointers to zero values count as unset.
func leftover(v reflect.Value, path string) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return leftover(v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			if p := leftover(v.Field(i), join(path, v.Type().Field(i))); p != "" {
				return p
			}
		}
		return ""
	case reflect.Slice, reflect.Map:
		if v.Len() == 0 {
			return ""
		}
		return path
	}
	if v.IsZero() {
		return ""
	}
	return path
}

func join(path string, f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case name == "":
		return path
	case path == "":
		return name
	}
	return path + "." + name
}
