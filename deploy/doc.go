// Package deploy is for operators: files for Kubernetes, systemd, docker-compose, Prometheus and Grafana. It has no
// program; its tests check the files with the programs that read them, and against a running service.
package deploy
