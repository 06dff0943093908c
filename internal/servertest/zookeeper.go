//go:build unix

package servertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// ErrNoZooKeeper means that ZooKeeper cannot be started here. It is optional, so
// scripts/install-servers does not install it.
var ErrNoZooKeeper = errors.New("ZooKeeper is not installed (apt-get install zookeeper)")

// zooKeeperTick is in milliseconds. A session lasts two ticks at least.
const zooKeeperTick = 250

// zooKeeperReply bounds one request to a starting server, which may forget a connection that it has accepted too early.
const zooKeeperReply = 500 * time.Millisecond

// zooKeeperJars are the jars of Debian's package; the first names all that it
// needs, but no logger, without which a failed start gives no reason.
var zooKeeperJars = []string{"/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar"}

// ZooKeeper is a private server of one node. Like every ZooKeeper, it writes
// each change through to the disk before it answers.
type ZooKeeper struct{ server }

// StartZooKeeper starts a ZooKeeper server. If none is installed, the error is
// ErrNoZooKeeper.
func StartZooKeeper(ctx context.Context) (*ZooKeeper, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, ErrNoZooKeeper
	}
	for _, jar := range zooKeeperJars {
		if _, err := os.Stat(jar); err != nil {
			return nil, ErrNoZooKeeper
		}
	}
	z := &ZooKeeper{server{name: "ZooKeeper", deathSignal: syscall.SIGKILL}}
	z.command = func() *exec.Cmd {
		return z.run(java, "-Xmx256m", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", strings.Join(zooKeeperJars, ":"),
			"org.apache.zookeeper.server.ZooKeeperServerMain", zooKeeperFile)
	}
	z.configure, z.ready = z.writeConfig, z.answers
	return started(z, z.open(ctx, os.TempDir(), nil))
}

const zooKeeperFile = "zoo.cfg"

// writeConfig writes the settings, which include the port.
func (z *ZooKeeper) writeConfig() error {
	return z.write(map[string]string{zooKeeperFile: fmt.Sprintf(`dataDir=%s
clientPortAddress=127.0.0.1
clientPort=%d
tickTime=%d
maxSessionTimeout=60000
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=conf
`, z.folder.path, z.port, zooKeeperTick)})
}

// answers reads the server's settings, which include its folder.
func (z *ZooKeeper) answers(ctx context.Context, _ int) error {
	ctx, cancel := context.WithTimeout(ctx, zooKeeperReply)
	defer cancel()
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", z.Addr())
	if err != nil {
		return err
	}
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })() // ends the read below
	if _, err := connection.Write([]byte("conf")); err != nil {
		return err
	}
	text, err := io.ReadAll(connection)
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), "dataDir="+z.folder.path+"/") {
		return fmt.Errorf("no ZooKeeper with the folder %s answers, but %q", z.folder.path, text)
	}
	return nil
}
