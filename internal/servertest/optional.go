//go:build unix

package servertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// These servers are optional, so scripts/install-servers does not install them.
var (
	ErrNoZooKeeper = errors.New("ZooKeeper is not installed (apt-get install zookeeper)")
	ErrNoMongoDB   = errors.New("neither mongod nor a ferretdb with SQLite is installed")
)

// zooKeeperTick is in milliseconds. A session lasts two ticks at least.
const zooKeeperTick = 250

// zooKeeperJars are the jars of Debian's package; the first names all that it needs, but no logger, without which a failed start
// gives no reason.
var zooKeeperJars = []string{"/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar"}

// StartZooKeeper starts a ZooKeeper server of one node, which writes each change through to the disk before it answers. If none is
// installed, the error is ErrNoZooKeeper.
func StartZooKeeper(ctx context.Context) (*Program, error) {
	_, missing := exec.LookPath("java")
	for _, jar := range zooKeeperJars {
		_, err := os.Stat(jar)
		missing = errors.Join(missing, err)
	}
	if missing != nil {
		return nil, ErrNoZooKeeper
	}
	return startProgram(ctx, "java", nil, func(folder string, port int) (map[string]string, []string) {
		settings := fmt.Sprintf("dataDir=%s\nclientPortAddress=127.0.0.1\nclientPort=%d\ntickTime=%d\nmaxSessionTimeout=60000\nmaxClientCnxns=0\n"+
			"admin.enableServer=false\n", folder, port, zooKeeperTick)
		return map[string]string{"zoo.cfg": settings}, []string{
			"-Xmx256m", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", strings.Join(zooKeeperJars, ":"),
			"org.apache.zookeeper.server.ZooKeeperServerMain", filepath.Join(folder, "zoo.cfg"),
		}
	})
}

// StartMongoDB starts a server of MongoDB's protocol: mongod, or FerretDB, which keeps documents in SQLite. If none is installed, the
// error is ErrNoMongoDB.
func StartMongoDB(ctx context.Context) (*Program, error) {
	if _, err := exec.LookPath("mongod"); err == nil {
		return startProgram(ctx, "mongod", nil, func(folder string, port int) (map[string]string, []string) {
			return nil, []string{
				"--dbpath", folder, "--bind_ip", "127.0.0.1", "--port", strconv.Itoa(port), "--nounixsocket", "--wiredTigerCacheSizeGB", "0.25",
			}
		})
	}
	// From version 2 on, FerretDB needs a PostgreSQL with its own extensions.
	help, err := exec.CommandContext(ctx, "ferretdb", "--help").Output()
	if err != nil || !strings.Contains(string(help), "--sqlite-url") {
		return nil, ErrNoMongoDB
	}
	return startProgram(ctx, "ferretdb", nil, func(folder string, port int) (map[string]string, []string) {
		return nil, []string{
			"--handler=sqlite", "--sqlite-url=file:" + folder + "/", "--listen-addr=127.0.0.1:" + strconv.Itoa(port), "--log-level=warn",
			"--state-dir=-", "--debug-addr=-", "--telemetry=disable", // nothing but the folder and the port
		}
	})
}
