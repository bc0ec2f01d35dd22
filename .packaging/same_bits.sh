# For scripts that make what is released, by `. .packaging/same_bits.sh` in the project's root: what they make does not
# depend on the time, the zone, the language and the umask in which they run, but on the last commit.
umask 022
export LC_ALL=C.UTF-8 TZ=UTC
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH
