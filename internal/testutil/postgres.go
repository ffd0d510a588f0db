package testutil

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// nobody runs the server where the test is root, which Postgres refuses.
const nobody = 65534

// PostgresServer is a throw-away server of a test's own, which listens on the loopback interface.
type PostgresServer struct {
	URL string // of its database, as a user who may do everything

	dir, port string
	cmd       *exec.Cmd
	log       bytes.Buffer
}

// Postgres starts a server that ends with the test. Its data is below the folder of temporary files.
func Postgres(t testing.TB) *PostgresServer {
	t.Helper()
	Require(t, "postgres")
	dir, err := os.MkdirTemp("", "hotcell-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	p := &PostgresServer{dir: dir, port: freePort(t)}
	p.URL = fmt.Sprintf("postgres://hotcell@127.0.0.1:%s/postgres?sslmode=disable", p.port)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	initdb := p.command(ctx, "initdb", "-D", filepath.Join(dir, "data"), "-U", "hotcell", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	p.Start(t)
	t.Cleanup(func() { p.Stop(t) })
	return p
}

// Start starts the server, and waits until it takes connections.
func (p *PostgresServer) Start(t testing.TB) {
	t.Helper()
	p.cmd = p.command(context.Background(), "postgres", "-D", filepath.Join(p.dir, "data"), "-k", p.dir, "-h", "127.0.0.1", "-p", p.port, "-c", "fsync=off",
		"-c", "max_connections=200")
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for ; ; time.Sleep(50 * time.Millisecond) {
		if exec.Command(postgresProgram("pg_isready"), "-q", "-h", "127.0.0.1", "-p", p.port).Run() == nil {
			return
		}
		if time.Now().After(deadline) {
			p.Stop(t)
			t.Fatalf("postgres does not start: %s", p.log.String())
		}
	}
}

// Stop ends the server as a crash would, if it runs.
func (p *PostgresServer) Stop(t testing.TB) {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGQUIT) // it may have ended
	_ = p.cmd.Wait()
	p.cmd = nil
	if t.Failed() {
		t.Logf("postgres said: %s", bytes.TrimSpace(p.log.Bytes()[max(0, p.log.Len()-8000):]))
	}
}

func (p *PostgresServer) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, postgresProgram(name), args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// postgresProgram finds one of the server's programs: Debian has them in no folder of PATH.
func postgresProgram(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return name
	}
	slices.Sort(found)
	return found[len(found)-1]
}

func havePostgres(ctx context.Context) error {
	for _, name := range []string{"initdb", "postgres"} {
		if err := haveProgram(postgresProgram(name), "--version")(ctx); err != nil {
			return errors.Join(err, errors.New("run scripts/postgres"))
		}
	}
	return nil
}
