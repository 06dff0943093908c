//go:build unix

package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"inventory/internal/servertest"
)

// Started has the servers that were started, for a run that does things to them; nil: there is a URL.
type Started struct {
	Postgres *servertest.Postgres
	Redis    *servertest.Redis
}

// launches are servers that start side by side.
type launches struct {
	*errgroup.Group
	mu sync.Mutex
	on *Servers
}

// launch starts a server that Close stops, and notes it.
func launch[S interface{ Stop() error }](l *launches, start func() (S, error), note func(S)) {
	l.Go(func() error {
		server, err := start()
		if err == nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.on.OnClose(server.Stop)
			note(server)
		}
		return err
	})
}

// nodes is the least number of Redis servers of which most are left when one fails.
const nodes = 3

// start starts the missing servers: PostgreSQL and Redis; and for locks that need them three independent Redis servers, and ZooKeeper
// and MongoDB where they are installed. It notes each that is left out.
func (s *Servers) start(ctx context.Context, n Needs) error {
	starting, ctx := errgroup.WithContext(ctx)
	l := &launches{Group: starting, on: s}
	if s.DatabaseURL == "" {
		launch(l, func() (*servertest.Postgres, error) { return servertest.StartPostgres(ctx, servertest.Durable()) },
			func(p *servertest.Postgres) { s.DatabaseURL, s.PostmasterPID, s.Postgres = p.URL(), p.PID(), p })
	}
	startRedis := func() (*servertest.Redis, error) { return servertest.StartRedis(ctx) }
	if s.RedisURL == "" {
		launch(l, startRedis, func(r *servertest.Redis) { s.RedisURL, s.RedisPID, s.Redis = r.URL(), r.PID(), r })
	}
	for range nodes {
		if n.Nodes {
			launch(l, startRedis, func(r *servertest.Redis) { s.NodeURLs = append(s.NodeURLs, r.URL()) })
		}
	}
	switch {
	case n.Others && zooKeeperInstalled():
		launch(l, func() (*servertest.Program, error) { return startZooKeeper(ctx) }, func(z *servertest.Program) { s.ZooKeeper = z.Addr() })
	case n.Others:
		s.LeftOut = append(s.LeftOut, "the lock on ZooKeeper is left out: it is not installed (apt-get install zookeeper)")
	}
	_, missing := exec.LookPath(mongoDB)
	switch {
	case !n.Others || s.MongoDBURL != "":
	case missing != nil:
		s.LeftOut = append(s.LeftOut, "the lock on MongoDB is left out: mongod is not installed, and there is no --mongodb-url")
	default:
		launch(l, func() (*servertest.Program, error) { return startMongoDB(ctx) }, func(m *servertest.Program) { s.MongoDBURL = "mongodb://" + m.Addr() + "/" })
	}
	return starting.Wait()
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
func startZooKeeper(ctx context.Context) (*servertest.Program, error) {
	return servertest.StartProgram(ctx, "java", func(folder string, port int) (map[string]string, []string) {
		settings := fmt.Sprintf("dataDir=%s\nclientPortAddress=127.0.0.1\nclientPort=%d\ntickTime=%d\nmaxSessionTimeout=60000\nmaxClientCnxns=0\n"+
			"admin.enableServer=false\n", folder, port, zooKeeperTick)
		return map[string]string{"zoo.cfg": settings}, []string{
			"-Xmx256m", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", strings.Join(zooKeeperJars(), ":"),
			"org.apache.zookeeper.server.ZooKeeperServerMain", filepath.Join(folder, "zoo.cfg"),
		}
	})
}

// mongoDB is the program of MongoDB's server.
const mongoDB = "mongod"

func startMongoDB(ctx context.Context) (*servertest.Program, error) {
	return servertest.StartProgram(ctx, mongoDB, func(folder string, port int) (map[string]string, []string) {
		return nil, []string{
			"--dbpath", folder, "--bind_ip", "127.0.0.1", "--port", strconv.Itoa(port), "--nounixsocket", "--wiredTigerCacheSizeGB", "0.25",
		}
	})
}
