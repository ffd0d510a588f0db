package kubernetes

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// door is between a driver and its cluster, and can be shut.
type door struct {
	l    net.Listener
	work sync.WaitGroup

	mu   sync.Mutex
	shut bool
	open []net.Conn
}

func newDoor(t *testing.T) *door {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{l: l}
	t.Cleanup(func() {
		_ = l.Close()
		d.cut(d.connections())
		d.work.Wait()
	})
	return d
}

// between has a driver speak through it.
func (d *door) between(t *testing.T) func(*rest.Config) {
	return func(config *rest.Config) {
		server, err := url.Parse(config.Host)
		if err != nil {
			t.Fatal(err)
		}
		config.TLSClientConfig.ServerName = server.Hostname()
		config.Host = "https://" + d.l.Addr().String()
		d.work.Go(func() { d.serve(server.Host) })
	}
}

func (d *door) serve(addr string) {
	for {
		client, err := d.l.Accept()
		if err != nil {
			return
		}
		d.mu.Lock()
		shut := d.shut
		if !shut {
			d.open = append(d.open, client)
		}
		d.mu.Unlock()
		if shut {
			_ = client.Close()
			continue
		}
		d.work.Go(func() { forward(client, addr, 1<<40) })
	}
}

func (d *door) connections() []net.Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]net.Conn(nil), d.open...)
}

func (d *door) cut(all []net.Conn) {
	for _, c := range all {
		_ = c.Close()
	}
}

func (d *door) set(shut bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = shut
}

// serverAway: while nobody answers requests, and the watch has broken off, a cell whose own connection lives goes on.
func (r *real) serverAway(t *testing.T) {
	door := newDoor(t)
	o := r.options()
	o.tune = door.between(t)
	d := r.driverOf(t, o)
	cell, err := d.create(bounded(t), r.spec("cat"), true) // its connection is made when it starts
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cell.Destroy(bounded(t)); err != nil {
			t.Error(err)
		}
	}()
	before := door.connections()
	if err := cell.Start(bounded(t)); err != nil {
		t.Fatal(err)
	}
	door.set(true)
	defer door.set(false)
	door.cut(before)
	if err := d.Ping(bounded(t)); err == nil {
		t.Error("the cluster answers: nothing is tested")
	}
	for range 3 {
		if _, err := io.WriteString(cell.Stdio().Stdin, "still here\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(cell.Stdio().Stdout, make([]byte, len("still here\n"))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // the driver looks for its watch meanwhile
	}
	if err := cell.Stdio().Stdin.Close(); err != nil {
		t.Error(err)
	}
	if exit, err := cell.Wait(bounded(t)); err != nil || exit.Code != 0 {
		t.Errorf("wait: %+v, %v", exit, err)
	}
	door.set(false)
}
