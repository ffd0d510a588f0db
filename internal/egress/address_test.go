package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/policies"
)

func TestSpecialAddresses(t *testing.T) {
	for addr, want := range map[string]string{
		"93.184.216.34": "", "1.1.1.1": "", "172.32.0.1": "", "192.169.0.1": "", "100.128.0.1": "", "223.255.255.255": "",
		"2606:4700::1111": "", "2a00:1450::1": "", "64:ff9b::5db8:d822": "", "::ffff:93.184.216.34": "",
		"0.0.0.0": "this host", "0.1.2.3": "this host", "10.255.255.255": "a private network", "172.16.0.1": "a private network",
		"172.31.255.255": "a private network", "192.168.1.1": "a private network", "127.0.0.1": "loopback", "127.255.255.254": "loopback",
		"169.254.0.1": "link-local", "169.254.169.254": "a metadata service", "169.254.170.2": "a metadata service",
		"100.100.100.200": "a metadata service", "100.64.0.1": "a carrier's private network", "100.127.255.255": "a carrier's private network",
		"224.0.0.1": "multicast", "239.1.1.1": "multicast", "255.255.255.255": "reserved", "240.0.0.1": "reserved", "192.0.2.1": "reserved",
		"198.19.255.255": "reserved", "::": "this host", "::1": "loopback", "fd00::1": "a private network", "fc00::1": "a private network",
		"fd00:ec2::254": "a metadata service", "fe80::1": "link-local", "fe80::1%eth0": "link-local", "ff02::1": "multicast",
		"fec0::1": "a private network", "::ffff:127.0.0.1": "loopback", "::ffff:169.254.169.254": "a metadata service",
		"::7f00:1": "reserved", "::ffff:0:7f00:1": "reserved", "64:ff9b::7f00:1": "loopback", "64:ff9b::a00:1": "a private network",
		"64:ff9b::a9fe:a9fe": "a metadata service", "64:ff9b:1::a00:1": "reserved",
		"2002:a00:1::1": "an IPv4 address in other clothes", "2001:0:a00:1::": "reserved", "2001:db8::1": "reserved", "100::1": "reserved",
		"4000::1": "reserved", "5f00::1": "reserved",
	} {
		if got := banned(netip.MustParseAddr(addr), 443, nil); got != want {
			t.Errorf("%s: %q, want %q", addr, got, want)
		}
	}
}

// The operator opens special addresses by writing them down: a range opens those that are as special as itself.
func TestNamedAddresses(t *testing.T) {
	for _, tt := range []struct {
		named, addr string
		open        bool
	}{
		{"10.1.2.3:443", "10.1.2.3", true},
		{"10.1.2.3:443", "::ffff:10.1.2.3", true},
		{"10.1.2.3:80", "10.1.2.3", false},
		{"10.1.2.3:443", "10.1.2.4", false},
		{"10.0.0.0/8:443", "10.1.2.3", true},
		{"0.0.0.0/0:443", "10.1.2.3", false},
		{"[::/0]:443", "fd00::1", false},
		{"127.0.0.1:443", "127.0.0.1", true},
		{"127.0.0.1:443", "127.0.0.2", false},
		{"169.254.0.0/16:443", "169.254.169.254", false},
		{"169.254.169.254:443", "169.254.169.254", true},
		{"[fd00::/8]:443", "fd00:ec2::254", false},
		{"[fd00::/8]:443", "fd00::1", true},
		{"intranet.example.org:443", "10.1.2.3", false},
		{"*:443", "10.1.2.3", false},
	} {
		p, err := policies.ParseHostPattern(tt.named)
		if err != nil {
			t.Fatal(err)
		}
		if got := banned(netip.MustParseAddr(tt.addr), 443, []policies.HostPattern{p}); (got == "") != tt.open {
			t.Errorf("%s names %s: %q", tt.named, tt.addr, got)
		}
	}
}

// A public address of this host's own is no way in, unless the operator names that very address.
func TestThisHostsOwnAddresses(t *testing.T) {
	own := []netip.Addr{netip.MustParseAddr("1.2.3.4"), netip.MustParseAddr("2a00::1"), netip.MustParseAddr("10.0.0.1")}
	for _, tt := range [][3]string{
		{"1.2.3.4", "", "this host"}, {"::ffff:1.2.3.4", "", "this host"}, {"64:ff9b::102:304", "", "this host"}, {"2a00::1", "", "this host"},
		{"1.2.3.5", "", ""}, {"2a00::2", "", ""}, {"10.0.0.1", "", ""}, // which is refused as what it is
		{"1.2.3.4", "1.2.3.4:443", ""}, {"1.2.3.4", "1.2.3.4:80", "this host"}, {"1.2.3.4", "1.2.3.0/24:443", "this host"},
	} {
		var named []policies.HostPattern
		if tt[1] != "" {
			p, err := policies.ParseHostPattern(tt[1])
			if err != nil {
				t.Fatal(err)
			}
			named = append(named, p)
		}
		if got := ours(netip.MustParseAddr(tt[0]), 443, own, named); got != tt[2] {
			t.Errorf("%v: %q", tt, got)
		}
	}
	w := &world{t: t, own: own, lookup: func(context.Context, string) ([]string, error) { return []string{"2a00::1"}, nil }}
	if _, _, no := w.grant("example.com:443").reach(t.Context(), policies.NetHost{Name: "example.com"}, 443); no == nil || no.status != 403 || len(w.dials()) > 0 {
		t.Errorf("%+v, %v", no, w.dials())
	}
	for _, addr := range interfaces() {
		if !addr.IsValid() || addr.Is4In6() {
			t.Errorf("%v", addr)
		}
	}
	if len(interfaces()) == 0 {
		t.Error("this host has no address at all")
	}
}

func TestNamesThatLeadInside(t *testing.T) {
	for _, tt := range []struct {
		name   string
		leads  []string
		named  []string
		want   string
		dialed []string
	}{
		{name: "private", leads: []string{"10.0.0.1"}, want: "403 hotcell egress: example.com:443 leads to an address that is not public (a private network)"},
		{name: "metadata", leads: []string{"169.254.169.254"}, want: "403 hotcell egress: example.com:443 leads to an address that is not public (a metadata service)"},
		{name: "mapped", leads: []string{"::ffff:127.0.0.1"}, want: "403 hotcell egress: example.com:443 leads to an address that is not public (loopback)"},
		{name: "one of two", leads: []string{"127.0.0.1", public}, want: "502", dialed: []string{public + ":443"}},
		{name: "named", leads: []string{"10.0.0.1"}, named: []string{"10.0.0.0/24:443"}, want: "502", dialed: []string{"10.0.0.1:443"}},
		{name: "named by name alone", leads: []string{"10.0.0.1"}, named: []string{"example.com:443"}, want: "403"},
		{name: "several", leads: []string{"1.1.1.1", "2606:4700::1111"}, want: "502", dialed: []string{"1.1.1.1:443", "[2606:4700::1111]:443"}},
		{name: "mapped public", leads: []string{"::ffff:1.1.1.1"}, want: "502", dialed: []string{"1.1.1.1:443"}},
		{name: "none", want: "502 hotcell egress: there is no host example.com"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &world{t: t, named: tt.named}
			w.lookup = func(context.Context, string) ([]string, error) { return tt.leads, nil }
			status, body := raw(t, w.grant("example.com:443"), connect("example.com:443"))
			if !strings.HasPrefix(status, tt.want) {
				t.Error(status)
			}
			for _, addr := range tt.leads {
				if strings.Contains(body, addr) {
					t.Errorf("the cell learns %s: %s", addr, body)
				}
			}
			if diff := cmp.Diff(tt.dialed, w.dials()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A name that leads elsewhere when it is asked for again gains nothing: it is asked for once, and the address that was
// checked is the one that is dialled.
func TestRebinding(t *testing.T) {
	w := &world{t: t}
	asked := 0
	w.lookup = func(context.Context, string) ([]string, error) {
		if asked++; asked%2 == 1 {
			return []string{public}, nil
		}
		return []string{"127.0.0.1"}, nil
	}
	g := w.grant("rebind.example.org:443")
	for i, want := range []string{"502", "403", "502", "403"} {
		if status, _ := raw(t, g, connect("rebind.example.org:443")); !strings.HasPrefix(status, want) {
			t.Errorf("%d: %s", i, status)
		}
	}
	if diff := cmp.Diff([]string{public + ":443", public + ":443"}, w.dials()); diff != "" {
		t.Error(diff)
	}
	if asked != 4 || w.looked[0] != "rebind.example.org." {
		t.Errorf("asked %d times for %q", asked, w.looked)
	}
}

func TestAddressesAreTriedInOrder(t *testing.T) {
	w := &world{t: t}
	w.lookup = func(context.Context, string) ([]string, error) { return []string{"1.1.1.1", "1.1.1.2", "1.1.1.3"}, nil }
	conns := echoing(w)
	working := w.connect
	w.connect = func(ctx context.Context, address string) (net.Conn, error) {
		if address != "1.1.1.2:443" {
			return nil, errors.New("connection refused")
		}
		return working(ctx, address)
	}
	cell, _ := tunnelled(t, w, w.grant("example.com:443"), conns)
	_ = cell.Close()
	if diff := cmp.Diff([]string{"1.1.1.1:443", "1.1.1.2:443"}, w.dials()); diff != "" {
		t.Error(diff)
	}
	if e := w.audited(1)[0]; e.Data["address"] != "1.1.1.2" {
		t.Errorf("%+v", e)
	}
}

func TestTimeouts(t *testing.T) {
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	synctest.Test(t, func(t *testing.T) {
		w, began := &world{t: t}, time.Now()
		w.lookup = func(ctx context.Context, _ string) ([]string, error) { return nil, hang(ctx) }
		if status, _ := raw(t, w.grant("example.com:443"), connect("example.com:443")); status != "504 hotcell egress: the name example.com was not resolved in time" {
			t.Error(status)
		}
		w.lookup = func(context.Context, string) ([]string, error) { return []string{"1.1.1.1", "1.1.1.2"}, nil }
		w.connect = func(ctx context.Context, _ string) (net.Conn, error) { return nil, hang(ctx) }
		if status, _ := raw(t, w.grant("example.com:443"), connect("example.com:443")); status != "504 hotcell egress: example.com did not answer in time" {
			t.Error(status)
		}
		if took := time.Since(began); took != 20*time.Second || len(w.dials()) != 2 {
			t.Errorf("both took %v and %d tries", took, len(w.dials()))
		}
		if e := w.audited(2)[1]; e.Data["verdict"] != "failed" {
			t.Errorf("%+v", e)
		}
	})
}
