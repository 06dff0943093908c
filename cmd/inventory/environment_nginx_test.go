//go:build environments

package main

import (
	"fmt"
	"strings"
	"testing"

	"inventory/internal/servertest"
)

// nginx starts an nginx before the processes, with its defaults except for some lines of the location.
func nginx(t *testing.T, upstream, location string, processes []string) *servertest.Program {
	t.Helper()
	return between(t, "nginx", func(folder string, port int) (map[string]string, []string) {
		var temporary strings.Builder
		for _, of := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
			fmt.Fprintf(&temporary, "%s_temp_path %s;\n", of, folder)
		}
		return map[string]string{"nginx.conf": fmt.Sprintf(`daemon off;
error_log stderr;
pid nginx.pid;
events {}
http {
access_log off;
%s
upstream processes { server %s; %s }
server {
listen 127.0.0.1:%d;
location / {
proxy_pass http://processes;
proxy_set_header Host $http_host;
proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
%s
}
}
}
`, temporary.String(), strings.Join(processes, "; server "), upstream, port, location)}, []string{"-p", folder, "-c", "nginx.conf", "-e", "stderr"}
	})
}

func TestBehindNginx(t *testing.T) {
	t.Parallel()
	isServed(t, func(processes []string) *servertest.Program { return nginx(t, "", "", processes) })
}

func TestBehindNginxThatKeepsConnections(t *testing.T) {
	t.Parallel()
	isServed(t, func(processes []string) *servertest.Program {
		return nginx(t, "keepalive 16;", `proxy_http_version 1.1; proxy_set_header Connection "";`, processes)
	})
}
