#!/bin/sh
# A Kubernetes of one node, in namespaces of mounts, network and processes of its own: with this process all of it is gone.
#   start.sh FOLDER PROGRAMS GROUP
# FOLDER keeps its state, PROGRAMS has its programs, GROUP is a control group that exists.
set -eu
folder=$1 programs=$2 group=$3
export PATH="$programs:$PATH:/usr/sbin:/sbin"
node=node1 address=10.99.0.1
pki=$folder/pki logs=$folder/logs admin=$folder/admin.conf
mkdir -p "$pki" "$logs" "$folder/cni"

mount --make-rshared /
mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/lock
# Names that tests give to pods: QuestDB answers to its names alone.
cp /etc/hosts "$folder/hosts"
mount --bind "$folder/hosts" /etc/hosts
ip link set lo up
ip link add node0 type bridge
ip address add "$address/24" dev node0
ip link set node0 up
# The node takes its own address by the default route, which leads nowhere.
ip route add default via 10.99.0.254 dev node0
for name in ipv4.ip_forward bridge.bridge-nf-call-iptables; do
  path=/proc/sys/net/$(echo "$name" | tr . /)
  echo 1 >"$path"
done

cd "$pki"
openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=cluster 2>/dev/null
sign() {
  openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.csr" -subj "$2" 2>/dev/null
  echo "subjectAltName=$3" >"$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out "$1.crt" -extfile "$1.ext" 2>/dev/null
}
sign apiserver /CN=kube-apiserver "IP:127.0.0.1,IP:$address,IP:10.96.0.1,DNS:kubernetes.default.svc"
sign admin /O=system:masters/CN=admin DNS:admin
sign node "/O=system:nodes/CN=system:node:$node" "DNS:$node,IP:$address"
openssl genrsa -out accounts.key 2048 2>/dev/null
openssl rsa -in accounts.key -pubout -out accounts.pub 2>/dev/null
cd "$folder"
for user in admin node; do
  config="kubectl config --kubeconfig=$folder/$user.conf"
  $config set-cluster cluster --server=https://127.0.0.1:6443 --certificate-authority="$pki/ca.crt" --embed-certs=true
  $config set-credentials $user --client-certificate="$pki/$user.crt" --client-key="$pki/$user.key" --embed-certs=true
  $config set-context cluster --cluster=cluster --user=$user
  $config use-context cluster
done >/dev/null

run() {
  name=$1
  shift
  "$@" >"$logs/$name.log" 2>&1 &
}
# The Go module of etcd's server gives its program that name.
run etcd server --data-dir "$folder/etcd" --unsafe-no-fsync --listen-client-urls http://127.0.0.1:2379 \
  --advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380
run apiserver kube-apiserver --etcd-servers=http://127.0.0.1:2379 --service-cluster-ip-range=10.96.0.0/16 \
  --advertise-address=$address --authorization-mode=Node,RBAC --allow-privileged=true --client-ca-file="$pki/ca.crt" \
  --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
  --kubelet-client-certificate="$pki/admin.crt" --kubelet-client-key="$pki/admin.key" \
  --kubelet-preferred-address-types=InternalIP --service-account-issuer=https://kubernetes.default.svc \
  --service-account-key-file="$pki/accounts.pub" --service-account-signing-key-file="$pki/accounts.key"
until kubectl --kubeconfig="$admin" get --raw /readyz >/dev/null 2>&1; do sleep 0.5; done
run controllers kube-controller-manager --kubeconfig="$admin" --leader-elect=false --use-service-account-credentials=true \
  --service-account-private-key-file="$pki/accounts.key" --root-ca-file="$pki/ca.crt" --allocate-node-cidrs=true \
  --cluster-cidr=10.244.0.0/16 --service-cluster-ip-range=10.96.0.0/16
run scheduler kube-scheduler --kubeconfig="$admin" --leader-elect=false

# Where the machine may not raise what a process has (open files, the score of the out-of-memory killer), neither do containers.
cat >"$folder/containerd.toml" <<EOF
version = 2
root = "$folder/containerd"
state = "/run/containerd"
oom_score = 0
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/tidemark-stand-in/pause:latest"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$folder/cni"
EOF
cat >"$folder/cni/10-bridge.conflist" <<EOF
{"cniVersion":"0.4.0","name":"pods","plugins":[
  {"type":"bridge","bridge":"cni0","isGateway":true,"ipMasq":true,"hairpinMode":true,
   "ipam":{"type":"host-local","ranges":[[{"subnet":"10.244.0.0/24"}]],"routes":[{"dst":"0.0.0.0/0"}]}},
  {"type":"portmap","capabilities":{"portMappings":true}}]}
EOF
run containerd containerd --config "$folder/containerd.toml"
until ctr version >/dev/null 2>&1; do sleep 0.5; done

echo 'nameserver 127.0.0.1' >"$folder/resolv.conf"
cat >"$folder/kubelet.yaml" <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: $pki/ca.crt } }
authorization: { mode: Webhook }
tlsCertFile: $pki/node.crt
tlsPrivateKeyFile: $pki/node.key
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
resolvConf: $folder/resolv.conf
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /$group
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
# No image can be fetched again, however full the disk is.
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: { memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1% }
featureGates: { KubeletInUserNamespace: true }
EOF
run kubelet kubelet --config="$folder/kubelet.yaml" --kubeconfig="$folder/node.conf" --hostname-override=$node \
  --node-ip=$address --root-dir="$folder/kubelet"
cat >"$folder/proxy.yaml" <<EOF
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clientConnection: { kubeconfig: $admin }
clusterCIDR: 10.244.0.0/16
hostnameOverride: $node
conntrack: { maxPerCore: 0, min: 0 }
EOF
run proxy kube-proxy --config="$folder/proxy.yaml"
echo ready
# The first process stays: it reaps what the others leave behind.
while :; do wait || true; sleep 3600; done
