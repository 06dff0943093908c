// Package deploy is for those who run the service: files for Kubernetes, systemd, docker-compose, Prometheus and Grafana.
// There is no program in it; its tests hold the files against the programs that read them, and against a running service.
package deploy
