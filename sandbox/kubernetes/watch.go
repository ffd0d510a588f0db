package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hotcell/hotcell/sandbox"
)

// follower tells cells what the cluster says of their pods: one list and one watch for all of them.
type follower struct {
	d    *Driver
	mu   sync.Mutex
	pods map[string]*sight // by name
	busy bool              // the watch runs
	work sync.WaitGroup
}

// sight is the newest that is known of a pod.
type sight struct {
	uid     string // "" until the pod has been made
	mu      sync.Mutex
	pod     *corev1.Pod
	gone    bool // the pod is not there any more
	changed chan struct{}
}

func newFollower(d *Driver) *follower { return &follower{d: d, pods: make(map[string]*sight)} }

// wait returns when the watch has ended, which the driver's context makes it do.
func (f *follower) wait() { f.work.Wait() }

// follow starts to look at a pod that is about to be made.
func (f *follower) follow(name string) *sight {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &sight{changed: make(chan struct{}, 1)}
	f.pods[name] = s
	if !f.busy && f.d.ctx.Err() == nil {
		f.busy = true
		f.work.Go(f.run)
	}
	return s
}

// leave stops to look at a pod.
func (f *follower) leave(name string, s *sight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pods[name] == s {
		delete(f.pods, name)
	}
}

func (f *follower) find(name string) *sight {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pods[name]
}

// How long to wait before a watch that broke off is taken up again.
const (
	watchPause = 50 * time.Millisecond
	watchCalm  = 2 * time.Second
)

func (f *follower) run() {
	pause := watchPause
	for f.d.ctx.Err() == nil {
		began := time.Now()
		if err := f.session(f.d.ctx); err != nil && f.d.ctx.Err() == nil {
			f.d.log.Debug("watch of pods broke off", "err", err)
		}
		if time.Since(began) > watchCalm {
			pause = watchPause
		}
		_ = sleep(f.d.ctx, pause)
		pause = min(2*pause, watchCalm)
	}
}

func (f *follower) selector() string {
	return sandbox.LabelManaged + "=1," + sandbox.LabelKind + "=" + kindCell + "," + sandbox.LabelInstance + "=" + labelValue(f.d.instance)
}

// session lists all pods and then reads what changes, until that breaks off.
func (f *follower) session(ctx context.Context) error {
	f.mu.Lock()
	before := make(map[string]*sight, len(f.pods))
	for name, s := range f.pods {
		if s.exists() {
			before[name] = s
		}
	}
	f.mu.Unlock()
	var list corev1.PodList
	if err := f.d.api.get(ctx, f.d.api.in(core, "pods"), url.Values{"labelSelector": {f.selector()}}, &list); err != nil {
		return err
	}
	for i := range list.Items {
		pod := &list.Items[i]
		f.saw(pod, false)
		delete(before, pod.Name)
	}
	for _, s := range before { // those that were there and are not any more
		s.vanish()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	late := time.AfterFunc(f.d.limits.Request, cancel) // a server answers a watch at once, whatever it has to tell
	stream, err := f.d.api.stream(ctx, f.d.api.in(core, "pods"), url.Values{
		"labelSelector": {f.selector()}, "watch": {"1"}, "resourceVersion": {list.ResourceVersion}, "allowWatchBookmarks": {"true"},
	})
	if err != nil {
		return err
	}
	defer stream.Close()
	late.Stop()
	return f.read(stream)
}

// read takes events until the stream ends.
func (f *follower) read(stream io.Reader) error {
	decoder := json.NewDecoder(stream)
	for {
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := decoder.Decode(&event); err != nil {
			return err
		}
		switch event.Type {
		case "ADDED", "MODIFIED", "DELETED":
			var pod corev1.Pod
			if err := json.Unmarshal(event.Object, &pod); err != nil {
				return err
			}
			f.saw(&pod, event.Type == "DELETED")
		case "ERROR":
			var status metav1.Status
			_ = json.Unmarshal(event.Object, &status)
			return errors.New(oneLine(status.Message))
		}
	}
}

func (f *follower) saw(pod *corev1.Pod, gone bool) {
	if s := f.find(pod.Name); s != nil {
		s.see(pod, gone)
	}
}

// made says which pod it is that is looked at. What was heard before of another one of its name, which may have just gone, is forgotten.
func (s *sight) made(pod *corev1.Pod) {
	s.mu.Lock()
	s.uid = string(pod.UID)
	if s.pod != nil && s.pod.UID != pod.UID {
		s.pod, s.gone = nil, false
	}
	s.mu.Unlock()
	s.see(pod, false)
}

// see takes the newer of two states: answers and the watch may overtake one another.
func (s *sight) see(pod *corev1.Pod, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uid != "" && s.uid != string(pod.UID) || s.pod != nil && s.pod.UID == pod.UID && older(pod.ResourceVersion, s.pod.ResourceVersion) && !gone {
		return
	}
	s.pod, s.gone = pod, s.gone || gone
	s.tell()
}

// older compares resource versions, which are numbers that grow.
func older(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }

// exists reports whether the pod has been made: a list that is asked for after that has it, unless it is gone.
func (s *sight) exists() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uid != ""
}

// vanish notes that a list does not have the pod.
func (s *sight) vanish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	s.tell()
}

func (s *sight) tell() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// look returns what is known.
func (s *sight) look() (pod *corev1.Pod, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pod, s.gone
}
