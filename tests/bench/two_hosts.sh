#!/bin/sh
# Runs a command by mpirun in two processes on two network namespaces, as on two hosts, with a link
# of the given rate. As root, with iproute2 and Open MPI.
#
#     tests/bench/two_hosts.sh 1gbit build/tests/bench/several_processes --n_embd 256
set -eu
rate=$1
shift
remote_shell=$(mktemp)
trap 'exit 1' INT TERM
trap 'rm -f "$remote_shell"; for name in a b; do ip netns del shiftgrad_$name; done' EXIT
for name in a b; do ip netns add shiftgrad_$name; done
ip link add shiftgrad_a netns shiftgrad_a type veth peer name shiftgrad_b netns shiftgrad_b
number=1
for name in a b; do
  host=shiftgrad_$name
  ip -n $host address add 10.111.0.$number/24 dev $host
  ip -n $host link set lo up
  ip -n $host link set $host up
  tc -n $host qdisc add dev $host root tbf rate "$rate" burst 128kb latency 100ms
  number=$((number + 1))
done
# What mpirun calls in place of ssh: HOST COMMAND.
cat > "$remote_shell" << 'END'
#!/bin/sh
shift
exec ip netns exec shiftgrad_b unshare --uts sh -c "hostname shiftgrad-b; $*"
END
chmod +x "$remote_shell"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ip netns exec shiftgrad_a unshare --uts sh -c 'hostname shiftgrad-a; exec "$@"' - \
  mpirun --host 10.111.0.1,10.111.0.2 --mca plm_rsh_agent "$remote_shell" --mca plm rsh \
  --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include 10.111.0.0/24 \
  --mca oob_tcp_if_include 10.111.0.0/24 --bind-to none "$@"
