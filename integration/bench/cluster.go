package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/kubernetes"
)

// cluster is a namespace of a run's own on a cluster that KUBECONFIG names. HOTCELL_KUBE_LOAD gives its nodes images.
type cluster struct {
	config    *clientrest.Config
	client    *clientrest.RESTClient
	params    k8sruntime.ParameterCodec
	namespace string
	runner    string // the image
	tree      sandbox.Tree
	version   string
}

// kube returns the cluster of this run.
func (y *yard) kube(ctx context.Context) (*cluster, error) {
	if y.cluster != nil {
		return y.cluster, nil
	}
	if os.Getenv("KUBECONFIG") == "" || os.Getenv("HOTCELL_KUBE_LOAD") == "" {
		return nil, absent{"there is no cluster: set KUBECONFIG, and HOTCELL_KUBE_LOAD to a command that loads an image archive into it"}
	}
	c, err := openCluster()
	if err != nil {
		return nil, err
	}
	dir, err := y.folder()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(c.prepare(ctx), c.load(ctx, y.runner, dir)); err != nil {
		return nil, errors.Join(err, c.close())
	}
	y.cluster = c
	return c, nil
}

func openCluster() (*cluster, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	scheme := k8sruntime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.QPS = -1 // no limit
	client, err := clientrest.RESTClientFor(config)
	mark := strings.ToLower(rand.Text()[:8])
	return &cluster{
		config: config, client: client, params: k8sruntime.NewParameterCodec(scheme),
		namespace: "hotcell-bench-" + mark, runner: "docker.io/hotcell-bench/runner:" + mark,
	}, err
}

// prepare makes the namespace, whose pods have to be restricted, as those of cells are.
func (c *cluster) prepare(ctx context.Context) error {
	var v struct{ Major, Minor string }
	text, err := c.client.Get().AbsPath("/version").Do(ctx).Raw()
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	c.version = "Kubernetes " + v.Major + "." + v.Minor
	if err != nil {
		return fmt.Errorf("the cluster at %s: %w", c.config.Host, err)
	}
	return c.client.Post().Resource("namespaces").Body(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: c.namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}).Do(ctx).Error()
}

// load gives the nodes the images: those of the skills as the engine has them, and the runner's.
func (c *cluster) load(ctx context.Context, runner, dir string) error {
	saved := filepath.Join(dir, "images.tar")
	if out, err := exec.CommandContext(ctx, "docker", "save", "-o", saved, rig.PythonImage, wordCountImage).CombinedOutput(); err != nil {
		return fmt.Errorf("docker save: %w: %s", err, out)
	}
	var err error
	if c.tree, err = rig.RunnerTree(runner); err != nil {
		return err
	}
	archive := filepath.Join(dir, "runner.tar")
	if err := c.pack(archive); err != nil {
		return err
	}
	for _, file := range []string{saved, archive} {
		command := append(strings.Fields(os.Getenv("HOTCELL_KUBE_LOAD")), file)
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, out)
		}
	}
	return nil
}

// pack writes the runner's image.
func (c *cluster) pack(archive string) error {
	img, err := rig.RunnerImage(c.tree, c.runner)
	if err != nil {
		return err
	}
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	_, err = img.Write(f)
	return errors.Join(err, f.Close())
}

// cells has a rig's cells made on the cluster, by nodes that pull nothing.
func (c *cluster) cells(instance string) func(*executor.Config) (func() error, error) {
	return func(cfg *executor.Config) (func() error, error) {
		driver, err := kubernetes.New(kubernetes.Options{
			Namespace: c.namespace, RunnerImage: c.runner, Instance: instance, NeverPull: true,
			Accept: []string{kubernetes.ControlSeccomp, kubernetes.ControlNetwork, kubernetes.ControlPaths, kubernetes.ControlMounts},
		})
		if err != nil {
			return nil, err
		}
		cfg.Driver = driver
		return driver.Close, nil
	}
}

// close deletes the namespace, with all that is in it.
func (c *cluster) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return c.client.Delete().Resource("namespaces").Name(c.namespace).Do(ctx).Error()
}
