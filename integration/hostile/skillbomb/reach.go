package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func reachCommands() []command {
	return []command{
		{"network", func([]string) { network() }},
		{"network-setup", func([]string) { networkSetup() }},
		{"victim", func([]string) { victim() }},
		{"reach-victim", func([]string) { reachVictim() }},
	}
}

// noWayOut stops the attack if there is a way out after all: then nothing is sent anywhere.
func noWayOut(r *report) bool {
	interfaces, err := net.Interfaces()
	must(err)
	var names []string
	for _, i := range interfaces {
		names = append(names, i.Name)
	}
	r.holds("interfaces", len(names) == 1 && names[0] == "lo", "%q", names)
	routes, err := os.ReadFile("/proc/net/route")
	r.holds("routes", err != nil || bytes.Count(routes, []byte("\n")) <= 1, "%q", routes)
	return len(r.Through) == 0
}

// addresses are the documentation's, those of clouds' metadata, an engine's bridge, and those that mean "all".
func addresses() []string {
	return []string{
		"192.0.2.1", "198.51.100.7", "203.0.113.9", "169.254.169.254", "172.17.0.1", "224.0.0.1", "255.255.255.255",
		"2001:db8::1", "fd00:ec2::254", "fe80::1", "ff02::1",
	}
}

// network tries to reach addresses outside of the cell. There is no way to any, which the kernel must say at once.
func network() {
	r := newReport()
	if !noWayOut(r) {
		r.send()
		return
	}
	for _, address := range addresses() {
		for _, port := range []int{53, 80, 2375} {
			where := fmt.Sprintf("%s:%d", address, port)
			r.refusedWith("tcp-"+where, dial(address, port, unix.SOCK_STREAM), noWay()...)
			r.refusedWith("udp-"+where, dial(address, port, unix.SOCK_DGRAM), noWay()...)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for name, resolver := range map[string]*net.Resolver{"go": {PreferGo: true}, "own": {}} {
		_, err := resolver.LookupHost(ctx, "hotcell.example")
		r.holds("resolve-"+name, err != nil && ctx.Err() == nil, "%v", err)
	}
	servers, err := os.ReadFile("/etc/resolv.conf")
	r.holds("resolv.conf", err != nil || !nameserver(servers), "%q", servers)
	r.refused("loopback", dial("127.0.0.1", 2375, unix.SOCK_STREAM))
	r.works("listen", listenAndDial())
	r.send()
}

// noWay are the errors that mean that the kernel knows no way there.
func noWay() []unix.Errno {
	return []unix.Errno{unix.ENETUNREACH, unix.EADDRNOTAVAIL, unix.EINVAL, unix.EACCES, unix.ENODEV}
}

func nameserver(conf []byte) bool {
	for line := range strings.Lines(string(conf)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "nameserver" && !strings.HasPrefix(f[1], "127.") {
			return true
		}
	}
	return false
}

// dial connects, and sends an empty datagram where there is nothing to connect.
func dial(address string, port, kind int) error {
	ip := net.ParseIP(address)
	family, to := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: port, Addr: [16]byte(ip.To16())})
	if four := ip.To4(); four != nil {
		family, to = unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: [4]byte(four)}
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BROADCAST, 1)
	if kind == unix.SOCK_DGRAM {
		return unix.Sendto(fd, nil, 0, to)
	}
	return unix.Connect(fd, to)
}

// listenAndDial uses the cell's own loopback, which is there.
func listenAndDial() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	return c.Close()
}

// networkSetup tries to make a way out: interfaces, addresses, routes.
func networkSetup() {
	r := newReport()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	must(err)
	for name, request := range map[string]uintptr{
		"SIOCSIFFLAGS": unix.SIOCSIFFLAGS, "SIOCSIFADDR": unix.SIOCSIFADDR, "SIOCADDRT": unix.SIOCADDRT, "SIOCDELRT": unix.SIOCDELRT,
		"SIOCSIFHWADDR": unix.SIOCSIFHWADDR, "SIOCSIFNAME": unix.SIOCSIFNAME, "SIOCSARP": unix.SIOCSARP, "SIOCBRADDBR": 0x89a0,
	} {
		b := [64]byte{'l', 'o'}
		r.refused(name, call(unix.SYS_IOCTL, uintptr(fd), request, pointer(&b)))
	}
	r.refused("SO_MARK", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, 1))
	r.refused("IP_TRANSPARENT", unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_TRANSPARENT, 1))
	r.refused("SO_RCVBUFFORCE", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 1<<30))
	r.refused("IPT_SO_SET_REPLACE", unix.SetsockoptString(fd, unix.SOL_IP, 64, strings.Repeat("\x00", 96)))
	r.refused("IPT_SO_GET_INFO", unix.SetsockoptString(fd, unix.SOL_IP, 65, strings.Repeat("\x00", 96)))
	nl, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	must(err)
	for name, kind := range map[string]uint16{
		"RTM_NEWLINK": unix.RTM_NEWLINK, "RTM_DELLINK": unix.RTM_DELLINK, "RTM_NEWADDR": unix.RTM_NEWADDR, "RTM_NEWROUTE": unix.RTM_NEWROUTE,
		"RTM_NEWRULE": unix.RTM_NEWRULE, "RTM_NEWNEIGH": unix.RTM_NEWNEIGH, "RTM_NEWQDISC": unix.RTM_NEWQDISC, "RTM_NEWNSID": unix.RTM_NEWNSID,
	} {
		r.refusedWith(name, netlink(nl, kind), unix.EPERM)
	}
	r.refused("lo-down", dial("127.0.0.1", 9, unix.SOCK_STREAM))
	r.send()
}

// netlink sends a request to the kernel's routing and returns what it answers.
func netlink(fd int, kind uint16) error {
	message := make([]byte, 16+32)
	message[0] = byte(len(message))
	message[4], message[5] = byte(kind), byte(kind>>8)
	message[6] = unix.NLM_F_REQUEST | unix.NLM_F_ACK
	message[7] = unix.NLM_F_CREATE >> 8
	if err := unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	b := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, b, 0)
	if err != nil {
		return err
	}
	if n < 20 {
		return errors.New("short answer")
	}
	if code := int32(uint32(b[16]) | uint32(b[17])<<8 | uint32(b[18])<<16 | uint32(b[19])<<24); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

// What a victim puts where another cell could find it.
const (
	victimName = "hotcell-victim"
	victimKey  = 0x686f7463
	victimPort = 45678
)

// victim leaves traces of all kinds and waits to be cancelled, which it survives.
func victim() {
	abstract, err := net.Listen("unix", "@"+victimName)
	must(err)
	defer abstract.Close()
	tcp, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", victimPort))
	must(err)
	defer tcp.Close()
	id, err := unix.SysvShmGet(victimKey, 4096, unix.IPC_CREAT|0o666)
	must(err)
	if _, _, errno := unix.Syscall(unix.SYS_SEMGET, victimKey, 1, unix.IPC_CREAT|0o666); errno != 0 {
		must(errno)
	}
	for _, dir := range []string{"/workspace", "/out", "/run/hotcell", "/dev/shm", "/dev/mqueue"} {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		f, err := os.OpenFile(dir+"/"+victimName, os.O_CREATE|os.O_RDWR, 0o666)
		must(err)
		must(f.Close())
	}
	_ = start("sleep", victimName)
	say("up", map[string]any{"uid": os.Getuid(), "pid": os.Getpid(), "shm": id})
	time.Sleep(time.Hour)
}

// reachVictim looks for each trace of a victim in the cell beside.
func reachVictim() {
	r := newReport()
	facts := request().Arguments.Victim
	uid, _ := facts["uid"].(float64)
	r.holds("uid", uid != 0 && int(uid) != os.Getuid(), "theirs is %v, mine %d", uid, os.Getuid())
	_, err := net.Dial("unix", "@"+victimName)
	r.refusedWith("abstract-socket", err, unix.ECONNREFUSED)
	r.refused("tcp", func() error { _, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", victimPort)); return err }())
	_, err = unix.SysvShmGet(victimKey, 0, 0)
	r.refusedWith("sysv-memory", err, unix.ENOENT)
	if id, ok := facts["shm"].(float64); ok {
		_, err = unix.SysvShmAttach(int(id), 0, 0)
		r.refused("sysv-memory-by-id", err)
	}
	r.refusedWith("sysv-semaphore", call(unix.SYS_SEMGET, victimKey, 0, 0), unix.ENOENT)
	for _, dir := range []string{"/workspace", "/out", "/run/hotcell", "/dev/shm", "/dev/mqueue", "/tmp"} {
		_, err := os.Lstat(dir + "/" + victimName)
		r.refused("file-"+dir, err)
	}
	found := 0
	for pid := 2; pid < 1<<16; pid++ {
		if b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); err == nil && bytes.Contains(b, []byte(victimName)) {
			found++
		}
		if err := unix.Kill(pid, 0); err == nil && !known(pid) {
			found++
		}
	}
	r.holds("processes", found == 0, "%d", found)
	sockets, err := os.ReadFile("/proc/net/unix")
	r.holds("sockets", err != nil || !bytes.Contains(sockets, []byte(victimName)), "of the victim")
	segments, err := os.ReadFile("/proc/sysvipc/shm")
	r.holds("segments", err != nil || bytes.Count(segments, []byte("\n")) <= 1, "%q", segments)
	r.send()
}

// known reports whether a number is that of a thread of this process or of PID 1.
func known(tid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "Tgid:"); ok {
			v = strings.TrimSpace(v)
			return v == "1" || v == strconv.Itoa(os.Getpid())
		}
	}
	return false
}
