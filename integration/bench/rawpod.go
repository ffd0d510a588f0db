package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/hotcell/hotcell/integration/rig"
)

// staying is what raw pods run: the same as a skill's program, but it ends with its stdin. An attach loses the output of a program that
// ends at once.
const staying = program + "sys.stdin.read()\n"

// What a cell of the skills for clusters has, and so has a raw pod.
const (
	podCPU    = "400m"
	podMemory = "64Mi"

	podRest = 500 * time.Millisecond // until a pod that waits is spoken to
)

// barePod is a pod of a skill's image and with its resources, as restricted as one has to be, and with nothing else.
func barePod(image string, command ...string) *corev1.Pod {
	yes, no, none, user := true, false, int64(0), int64(1<<31-9)
	has := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(podCPU), corev1.ResourceMemory: resource.MustParse(podMemory)}
	return &corev1.Pod{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: &no, EnableServiceLinks: &no, TerminationGracePeriodSeconds: &none,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: &yes, RunAsUser: &user, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: "cell", Image: image, Command: command, ImagePullPolicy: corev1.PullNever, Stdin: true, StdinOnce: true,
			Resources: corev1.ResourceRequirements{Limits: has, Requests: has},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}}
}

// pods starts pods of a kind: create, watch until it runs, attach.
func (y *yard) pods(form func(ctx context.Context, c *cluster) (*corev1.Pod, error)) starter {
	var serial atomic.Int64
	var made *corev1.Pod
	return func(ctx context.Context) (*peer, error) {
		c, err := y.kube(ctx)
		if err != nil {
			return nil, err
		}
		if made == nil {
			if made, err = form(ctx, c); err != nil {
				return nil, err
			}
		}
		pod := made.DeepCopy()
		pod.Name = fmt.Sprintf("raw-%d-%d", time.Now().UnixNano(), serial.Add(1))
		return c.start(ctx, pod)
	}
}

func (y *yard) barePods(image string, command ...string) starter {
	return y.pods(func(context.Context, *cluster) (*corev1.Pod, error) { return barePod(image, command...), nil })
}

// samePods starts pods as hotcell's of a skill are, with all their volumes and the init container where they have one, in which the program is the first one.
func (y *yard) samePods(skill string) starter {
	return y.pods(func(ctx context.Context, c *cluster) (*corev1.Pod, error) {
		s, err := y.site(onCluster, true)
		if err == nil {
			err = s.stocked(ctx, skill)
		}
		if err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(s.Pool.Waiting(names[skill])[0], "/")
		var like corev1.Pod
		if err := c.client.Get().Namespace(c.namespace).Resource("pods").Name(name).Do(ctx).Into(&like); err != nil {
			return nil, err
		}
		pod := &corev1.Pod{Spec: like.Spec}
		pod.Spec.NodeName, pod.Spec.ActiveDeadlineSeconds = "", nil
		pod.Spec.Containers[0].Command = []string{"python3", "-c", staying}
		return pod, nil
	})
}

func (c *cluster) start(ctx context.Context, pod *corev1.Pod) (p *peer, err error) {
	var made corev1.Pod
	if err := c.client.Post().Namespace(c.namespace).Resource("pods").Body(pod).Do(ctx).Into(&made); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.remove(context.WithoutCancel(ctx), &made))
		}
	}()
	if err := c.follow(ctx, &made, func(e watch.EventType, pod *corev1.Pod) bool {
		return len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Running != nil
	}); err != nil {
		return nil, err
	}
	return c.attach(ctx, &made)
}

// attach opens the connection to a pod that runs.
func (c *cluster) attach(ctx context.Context, pod *corev1.Pod) (*peer, error) {
	url := c.client.Get().Namespace(c.namespace).Resource("pods").Name(pod.Name).SubResource("attach").
		VersionedParams(&corev1.PodAttachOptions{Container: "cell", Stdin: true, Stdout: true, Stderr: true}, c.params).URL()
	exec, err := remotecommand.NewWebSocketExecutor(c.config, "GET", url.String())
	if err != nil {
		return nil, err
	}
	in, toPod := io.Pipe()
	fromPod, out := io.Pipe()
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		out.CloseWithError(exec.StreamWithContext(own, remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: io.Discard}))
		_ = in.Close()
	}()
	end := func(ctx context.Context) error {
		stop()
		_, _ = toPod.Close(), fromPod.Close()
		<-ended
		return c.remove(ctx, pod)
	}
	return &peer{in: toPod, out: bufio.NewReader(fromPod), cut: func() { _ = fromPod.Close() }, end: end}, nil
}

// follow watches a pod until something is true of it, again where the server ends a watch.
func (c *cluster) follow(ctx context.Context, pod *corev1.Pod, so func(watch.EventType, *corev1.Pod) bool) error {
	for {
		done, err := c.watchOnce(ctx, pod, so)
		if done || err != nil {
			return err
		}
		now := &corev1.Pod{}
		err = c.client.Get().Namespace(c.namespace).Resource("pods").Name(pod.Name).Do(ctx).Into(now)
		switch {
		case apierrors.IsNotFound(err):
			if so(watch.Deleted, pod) {
				return nil
			}
			return fmt.Errorf("pod %s is gone", pod.Name)
		case err != nil:
			return err
		case so(watch.Modified, now):
			return nil
		}
		pod = now
	}
}

func (c *cluster) watchOnce(ctx context.Context, pod *corev1.Pod, so func(watch.EventType, *corev1.Pod) bool) (done bool, err error) {
	events, err := c.client.Get().Namespace(c.namespace).Resource("pods").VersionedParams(&metav1.ListOptions{
		FieldSelector: "metadata.name=" + pod.Name, ResourceVersion: pod.ResourceVersion, Watch: true,
	}, c.params).Watch(ctx)
	if err != nil {
		return false, err
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		if now, ok := e.Object.(*corev1.Pod); ok && so(e.Type, now) {
			return true, nil
		}
	}
	return false, ctx.Err()
}

// remove deletes a pod and returns when it is gone.
func (c *cluster) remove(ctx context.Context, pod *corev1.Pod) error {
	grace := int64(1)
	err := c.client.Delete().Namespace(c.namespace).Resource("pods").Name(pod.Name).Body(&metav1.DeleteOptions{GracePeriodSeconds: &grace}).Do(ctx).Error()
	if err != nil {
		return err
	}
	return c.follow(ctx, pod, func(e watch.EventType, _ *corev1.Pod) bool { return e == watch.Deleted })
}

// podWaits is a talk with a pod that was started before. That it is ready it has said before anybody could hear it.
func podWaits(start starter) func(context.Context) (timing, error) {
	return func(ctx context.Context) (t timing, err error) {
		p, err := start(ctx)
		if err != nil {
			return t, err
		}
		defer func() { err = errors.Join(err, p.end(ctx)) }()
		if err := rest(ctx, podRest); err != nil { // its connection is in use
			return t, err
		}
		return t, p.talk(ctx, time.Now(), &t)
	}
}

// The raw pods of contenders.
func (y *yard) pythonPods() starter { return y.barePods(rig.PythonImage, "python3", "-c", staying) }
func (y *yard) framesPods() starter { return y.barePods(wordCountImage) }
