package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// api speaks with one cluster's API server. Objects travel as JSON: no scheme of all the kinds of Kubernetes is needed for
// the few that cells are made of.
type api struct {
	config    *rest.Config
	client    *rest.RESTClient
	web       *http.Client
	host      string
	namespace string
	limit     time.Duration // of one request
}

// The longest answer that is read.
const maxAnswer = 64 << 20

// How fast requests may follow one another. The API server has a fairness of its own.
const (
	requestsPerSecond = 200
	requestsAtOnce    = 400
)

// quiet drops what client-go would print to this program's stderr: what matters of it comes back as an error.
var quiet = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

func connect(opts Options, limit time.Duration) (*api, error) {
	quiet()
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = opts.Kubeconfig
	if err := plainFilesOnly(rules.GetLoadingPrecedence()); err != nil {
		return nil, err
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: opts.Context}).ClientConfig()
	if err != nil {
		if clientcmd.IsEmptyConfig(err) {
			if named := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); named != "" && opts.Kubeconfig == "" {
				return nil, fmt.Errorf("no cluster is configured: KUBECONFIG names %s, which is not there or has no cluster: set it to a kubeconfig, or kubernetes.kubeconfig", named)
			}
			return nil, errors.New("no cluster is configured: set kubernetes.kubeconfig or KUBECONFIG, or run in a pod with a service account")
		}
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config.GroupVersion = &schema.GroupVersion{Version: "v1"}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.UserAgent = "hotcell"
	config.QPS, config.Burst = requestsPerSecond, requestsAtOnce
	if opts.tune != nil {
		opts.tune(config)
	}
	web, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	client, err := rest.UnversionedRESTClientForConfigAndClient(config, web)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return &api{config: config, client: client, web: web, host: config.Host, namespace: opts.Namespace, limit: limit}, nil
}

// plainFilesOnly refuses what is not a file: a pipe would be waited for without end. What is not there is told later.
func plainFilesOnly(paths []string) error {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("kubeconfig: %s is not a file: expected a kubeconfig", path)
		}
	}
	return nil
}

// of is the same for another namespace.
func (a *api) of(namespace string) *api {
	b := *a
	b.namespace = namespace
	return &b
}

func (a *api) close() { utilnet.CloseIdleConnectionsFor(a.web.Transport) }

const plainJSON = "application/json"

// The groups of resources.
const (
	core       = "/api/v1"
	networking = "/apis/networking.k8s.io/v1"
)

// in is the path of a resource in the namespace of cells.
func (a *api) in(group, resource string, name ...string) string {
	path := group + "/namespaces/" + a.namespace + "/" + resource
	for _, part := range name {
		path += "/" + part
	}
	return path
}

// get reads an object or a list.
func (a *api) get(ctx context.Context, path string, query url.Values, into any) error {
	return a.do(ctx, a.client.Get().AbsPath(path), query, nil, into, plainJSON)
}

// meta reads what is said of an object, and not the object.
func (a *api) meta(ctx context.Context, path string, into any) error {
	req := a.client.Get().AbsPath(path)
	return a.do(ctx, req, url.Values{}, nil, into, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
}

// metas reads what is said of a list of objects.
func (a *api) metas(ctx context.Context, path string, query url.Values, into any) error {
	req := a.client.Get().AbsPath(path)
	return a.do(ctx, req, query, nil, into, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
}

// post makes an object and reads what became of it.
func (a *api) post(ctx context.Context, path string, object, into any) error {
	return a.do(ctx, a.client.Post().AbsPath(path), nil, object, into, plainJSON)
}

// remove deletes an object. A uid that is not "" must be its own.
func (a *api) remove(ctx context.Context, path, uid string, grace *int64) error {
	options := map[string]any{"kind": "DeleteOptions", "apiVersion": "v1"}
	if uid != "" {
		options["preconditions"] = map[string]any{"uid": uid}
	}
	if grace != nil {
		options["gracePeriodSeconds"] = *grace
	}
	return a.do(ctx, a.client.Delete().AbsPath(path), nil, options, nil, plainJSON)
}

func (a *api) do(ctx context.Context, req *rest.Request, query url.Values, object, into any, accept string) error {
	ctx, cancel := context.WithTimeout(ctx, a.limit)
	defer cancel()
	for key, values := range query {
		for _, v := range values {
			req.Param(key, v)
		}
	}
	req.SetHeader("Accept", accept)
	if object != nil {
		body, err := json.Marshal(object)
		if err != nil {
			return err
		}
		req.SetHeader("Content-Type", "application/json").Body(body)
	}
	result := req.Do(ctx)
	if err := result.Error(); err != nil { // Raw would leave out what the server said
		return err
	}
	answer, err := result.Raw()
	if err != nil {
		return err
	}
	if len(answer) > maxAnswer {
		return fmt.Errorf("an answer of %d bytes, expected at most %d", len(answer), maxAnswer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// stream opens a watch, which lasts until it is closed or ctx ends.
func (a *api) stream(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	req := a.client.Get().AbsPath(path).SetHeader("Accept", "application/json").MaxRetries(0)
	for key := range query {
		req.Param(key, query.Get(key))
	}
	return req.Stream(ctx)
}
