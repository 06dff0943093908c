// Package checks has the tests of the files in deploy/, for operators: Kubernetes, systemd, docker-compose, Prometheus and Grafana.
// They check the files with the programs that read them, and against a running service. It is a module of its own, so that
// the service does not depend on the modules of those programs.
package checks
