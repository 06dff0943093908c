//go:build unix

package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"inventory/internal/servertest"
)

// Started has the servers that were started, for a run that does things to them; nil: there is a URL.
type Started struct {
	Postgres *servertest.Postgres
	Redis    *servertest.Redis
}

// nodes is the least number of Redis servers of which most are left when one fails.
const nodes = 3

// start starts the missing servers, which Close stops: PostgreSQL and Redis; and for locks that need them three independent Redis
// servers, and ZooKeeper and MongoDB where they are installed. It notes each that is left out.
func (s *Servers) start(ctx context.Context, n Needs) (err error) {
	if s.DatabaseURL == "" {
		if s.Postgres, err = servertest.StartPostgres(ctx, servertest.Durable()); err != nil {
			return err
		}
		s.OnClose(s.Postgres.Stop)
		s.DatabaseURL, s.PostmasterPID = s.Postgres.URL(), s.Postgres.PID()
	}
	if s.RedisURL == "" {
		if s.Redis, err = servertest.StartRedis(ctx); err != nil {
			return err
		}
		s.OnClose(s.Redis.Stop)
		s.RedisURL, s.RedisPID = s.Redis.URL(), s.Redis.PID()
	}
	for n.Nodes && len(s.NodeURLs) < nodes {
		node, err := servertest.StartRedis(ctx)
		if err != nil {
			return err
		}
		s.OnClose(node.Stop)
		s.NodeURLs = append(s.NodeURLs, node.URL())
	}
	if n.Others {
		err = errors.Join(s.startZooKeeper(ctx), s.startMongoDB(ctx))
	}
	return err
}

// Stoppable is the Redis that was started for this run; nil: there is none.
func (s *Servers) Stoppable() Stoppable {
	if s.Redis == nil {
		return nil
	}
	return s.Redis
}

// zooKeeperTick is in milliseconds. A session lasts two ticks at least.
const zooKeeperTick = 250

// zooKeeperJars are the jars of Debian's package; the first names all that it needs, but no logger, without which a failed start
// gives no reason.
func zooKeeperJars() []string {
	return []string{"/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar"}
}

func zooKeeperInstalled() bool {
	_, missing := exec.LookPath("java")
	for _, jar := range zooKeeperJars() {
		if _, err := os.Stat(jar); err != nil {
			missing = err
		}
	}
	return missing == nil
}

// startZooKeeper starts a ZooKeeper server of one node, which writes each change through to the disk before it answers.
func (s *Servers) startZooKeeper(ctx context.Context) error {
	if !zooKeeperInstalled() {
		s.LeftOut = append(s.LeftOut, "the lock on ZooKeeper is left out: it is not installed (apt-get install zookeeper)")
		return nil
	}
	server, err := servertest.StartProgram(ctx, "java", func(folder string, port int) (map[string]string, []string) {
		settings := fmt.Sprintf("dataDir=%s\nclientPortAddress=127.0.0.1\nclientPort=%d\ntickTime=%d\nmaxSessionTimeout=60000\nmaxClientCnxns=0\n"+
			"admin.enableServer=false\n", folder, port, zooKeeperTick)
		return map[string]string{"zoo.cfg": settings}, []string{
			"-Xmx256m", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", strings.Join(zooKeeperJars(), ":"),
			"org.apache.zookeeper.server.ZooKeeperServerMain", filepath.Join(folder, "zoo.cfg"),
		}
	})
	if err != nil {
		return err
	}
	s.OnClose(server.Stop)
	s.ZooKeeper = server.Addr()
	return nil
}

// startMongoDB starts MongoDB's server, if there is no URL of another.
func (s *Servers) startMongoDB(ctx context.Context) error {
	const program = "mongod"
	if s.MongoDBURL != "" {
		return nil
	}
	if _, err := exec.LookPath(program); err != nil {
		s.LeftOut = append(s.LeftOut, "the lock on MongoDB is left out: mongod is not installed, and there is no --mongodb-url")
		return nil
	}
	server, err := servertest.StartProgram(ctx, program, func(folder string, port int) (map[string]string, []string) {
		return nil, []string{
			"--dbpath", folder, "--bind_ip", "127.0.0.1", "--port", strconv.Itoa(port), "--nounixsocket", "--wiredTigerCacheSizeGB", "0.25",
		}
	})
	if err != nil {
		return err
	}
	s.OnClose(server.Stop)
	s.MongoDBURL = "mongodb://" + server.Addr() + "/"
	return nil
}
