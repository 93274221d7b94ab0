# Boreside. make demo | test | install | bench | fuzz | clean ; everything else: make help
#   GPU=auto|0|1   SANITIZE=address,undefined|thread   CC=gcc|clang   DATA=folder of recordings
#   V=1 shows each command   TEST=word in the names of the tests to run
CC       = gcc
GPU     ?= auto
SANITIZE ?=
COVERED  ?=
TRACED   ?=
V        ?=
TEST     ?=
DATA    ?= ../shared/data
PREFIX  ?= /usr/local
DESTDIR ?=
# of a cross compiler (CC=aarch64-linux-gnu-gcc, with MACHINE=aarch64): its other tools' prefix
CROSS   := $(filter %-,$(patsubst %gcc,%,$(notdir $(CC))))
PKG_CONFIG ?= $(CROSS)pkg-config
NVCC    ?= $(firstword $(shell command -v nvcc 2>/dev/null) /usr/local/cuda/bin/nvcc)
ifeq ($(GPU),auto)
override GPU := $(if $(wildcard $(NVCC)),1,0)
endif

comma := ,
S     := $(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))$(if $(COVERED),-covered)
S     := $(S)$(if $(TRACED),-traced)
B     := build/$(notdir $(CC))-gpu$(GPU)$(S)
# Objects that are the same with and without a GPU: those of sources that do not ask.
O     := build/$(notdir $(CC))$(S)
PKGS  := nanomsg libconfig hdf5 expat libpng jansson libmicrohttpd libsodium
NIFTI := /usr/include/nifti # has no .pc; its headers name one another
SD    := $(shell $(PKG_CONFIG) --exists libsystemd 2>/dev/null && echo libsystemd)
# Under the GPL: a rival in the bench where it is there, linked with nothing else.
FFTW  := $(shell $(PKG_CONFIG) --exists fftw3f 2>/dev/null && echo fftw3f)

WARN  := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
         -Wpointer-arith
SAN   := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
# The sanitizers' checks in unrolled kernels take minutes to optimize at -O3: there -O2 for them.
OPT   := $(if $(SANITIZE)$(TRACED),-O1,-O2)
FAST  := $(if $(TRACED),-O1,$(if $(SANITIZE),-O2,-O3))
# The same bytes in every folder; gcov wants the folder.
PLACE := $(if $(COVERED),,-ffile-prefix-map=$(CURDIR)=.)
# All names of glibc: no source of the rooms asks for some of them by itself.
CFLAGS += -std=c17 -D_GNU_SOURCE= -g $(OPT) $(WARN) $(SAN) $(PLACE) -I. -I$(NIFTI) -MMD -MP \
          -pthread $(if $(TRACED),-finstrument-functions) \
          $(shell $(PKG_CONFIG) --cflags $(PKGS) $(SD) 2>/dev/null) $(if $(SD),-DBS_SYSTEMD)
LDLIBS = $(shell $(PKG_CONFIG) --libs $(PKGS) $(SD) 2>/dev/null) -lismrmrd -lniftiio \
         -lznz -lm -lpthread
# Calls of these functions are the program's own to answer: __wrap_malloc, ...
wrap   = $(foreach f,$(1),-Wl$(comma)--wrap=$(f))

# SIMD kernels (*_simd.c) are built once per instruction set and chosen when the program starts.
MACHINE := $(shell uname -m)
ISAS    := $(if $(filter x86_64,$(MACHINE)),v2 v3 v4,native)
ISA_v2  := -march=x86-64-v2
ISA_v3  := -march=x86-64-v3
ISA_v4  := -march=x86-64-v4 -mprefer-vector-width=512
ISA_native :=

# Sources are found by folder: every .c and .cu below the rooms is the library's; what lies in the
# folder tool of a room is the tools' library's, which the daemon is linked without (make lean).
find  = $(sort $(shell find $(1) -name '$(2)'))
ROOMS := core config ipc drivers gpu board
SIMD := $(call find,gpu,*_simd.c)
MAINS := board/main.c board/tool/main.c
# programs of a site's own, which link nothing of this
EXAMPLES := $(wildcard drivers/step/*/*.c)
SRC  := $(filter-out $(SIMD) $(MAINS) $(EXAMPLES),$(call find,$(ROOMS),*.c))
ASKS := $(shell grep -lwE 'BS_GPU|cuda/tune\.h' $(SRC)) $(MAINS)
OBJ  := $(patsubst %.c,$(B)/%.o,$(filter $(ASKS),$(SRC))) \
        $(patsubst %.c,$(O)/%.o,$(filter-out $(ASKS),$(SRC))) \
        $(foreach i,$(ISAS),$(SIMD:%.c=$(O)/%.$(i).o))
CUSRC := $(call find,gpu,*.cu)
ifeq ($(GPU),1)
CUDA  := $(abspath $(dir $(NVCC))..)
# A100; RTX 30; Jetson Orin; RTX 40, L4; H100, H200; RTX 50; what comes later compiles PTX
CUARCH ?= $(foreach a,80 86 87 89 90 120,-gencode=arch=compute_$(a),code=sm_$(a)) \
          -gencode=arch=compute_90,code=compute_90
# a file that is for one architecture alone names it: wgmma exists on sm_90a only
CUARCH_wgmma = -gencode=arch=compute_90a,code=sm_90a
# Several GPUs: the header alone is needed to build, the library (libnccl.so.2) where it is used.
NCCL  := $(firstword $(wildcard $(CUDA)/include/nccl.h /usr/include/nccl.h))
NVFLAGS = $(if $(NCCL),-DBS_NCCL) -DBS_GPU=1 -O3 -std=c++17 -I. -lineinfo \
          -Xcompiler -Wall,-Wextra --Werror all-warnings
# One copy for every CC: nvcc's host compiler is its own choice.
OBJ  += $(CUSRC:%.cu=build/cuda/%.cu.o)
LDLIBS += -L$(CUDA)/lib64 -lcudart_static -lstdc++ -ldl -lrt
endif

LIB   := $(B)/libboreside.a
TOOL  := $(B)/libtool.a
EXE   := $(B)/boreside
DAEMON := $(B)/daemon
BENCH := $(B)/test/bench/bench
PAPER := $(B)/test/paper/paper
TOOLS := $(BENCH) $(PAPER)
# Each takes a sanitizer a minute and runs what shorter tests run, too: WHOLE=1 runs them all.
LONG := $(addprefix test/replay/scan/,anatomy.sh averages.sh delays.sh dual.sh ends.sh field.sh \
        fmri.sh paths.sh prior.sh) \
        $(addprefix test/replay/init/,kinds.sh real.sh) \
        $(addprefix test/replay/,ranks.sh recordings.sh) \
        test/unit/board/tool/rounds.sh \
        test/unit/gpu/penalty/test_priors.c
SPARED := $(if $(SANITIZE),$(if $(WHOLE),,$(LONG)))
# What takes longest does not run last, alone.
UNITS := $(B)/test/simulate/simulate $(B)/test/mutate/mutate \
         $(patsubst %.c,$(B)/%,$(filter-out $(SPARED),$(call find,test/fault test/replay,*.c) \
         $(call find,test/unit,test_*.c) $(if $(filter 1,$(GPU)),$(call find,test/twin,*.c))))
SCRIPTS := $(filter-out $(SPARED), \
           $(call find,test/unit test/replay test/fault,*.sh)) \
           $(if $(filter 0,$(GPU)),test/twin/skipped.sh)

.PHONY: all help setup demo test tests units cross kill soak coverage covered simulate tools tsan \
        mutate walk walked lean bench rivals reproduce ladder fuzz fuzzers lint format limits \
        tidy hooks \
        install uninstall clean \
        deb deb-boreside deb-boreside-cuda
.DELETE_ON_ERROR:
.SECONDARY:
ifeq ($(V),)
.SILENT:
endif
all: $(EXE)

help:
	@echo 'make [GPU=auto|0|1] [SANITIZE=address,undefined|thread] [CC=gcc|clang]   boreside'
	@echo 'make demo       a simulated scan through the service: images, a table of latencies'
	@echo 'make test       all tests that run without a GPU (DATA=folder of recordings)'
	@echo 'make test TEST=starved   those with this word in their names; V=1 shows each command'
	@echo 'make simulate   ingest under simulated faults (SCHEDULES=1000000 FIRST=1)'
	@echo 'make kill       kill -9 over service, sender and archive (KILLS= SEED= BACKEND=)'
	@echo 'make mutate     scans as consoles change them: right, or true words (MUTATE_SEED=)'
	@echo 'make soak       memory, descriptors, files over an hour (SOAK_S= MESSAGES= HOSTILE=)'
	@echo 'make coverage   lines and branches of core, ipc and board in tests'
	@echo 'make walk       the files that a readout and an image enter, as documented'
	@echo 'make bench      the operators against a floor, the service against a bare socket'
	@echo 'make rivals     the same beside cuFINUFFT, FINUFFT (PyPI), cuFFT, BART, with energy'
	@echo 'make reproduce  the experiments of the papers: build/reproduce/REPORT.md (minutes)'
	@echo 'make ladder     the optimizations of the papers, one after the other, on this GPU'
	@echo 'make tools      builds, runs nothing: test/bench/bench, test/paper/paper'
	@echo 'make lean       the daemon without its tools: does it link, how many lines is it'
	@echo 'make fuzz       the decoders under libFuzzer, FUZZ_SECONDS each (clang)'
	@echo 'make lint       clang-format, the limits of STYLE.md, clang-tidy'
	@echo 'make hooks      git then refuses a commit of what is not formatted or does not lint'
	@echo 'make install    what make built: program, systemd unit, site files, documents'
	@echo '                (DESTDIR= PREFIX=/usr/local)'
	@echo 'make uninstall  the same files are removed; /etc/boreside stays'
	@echo 'make cross      for aarch64, where its cross compiler is (test/package/cross.sh)'
	@echo 'make deb        Debian packages in build/deb: boreside, boreside-cuda where nvcc is'

setup:
	@sh board/deploy/setup.sh

# demo and test install what is missing first, then start over so that pkg-config is asked again.
BUILDS = echo 'boreside is built: some minutes at first; V=1 shows each command'
demo: setup
	@$(BUILDS)
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@sh board/deploy/demo.sh $(EXE)

# Scripts may use any of the tests' programs; a program alone is built alone.
CHOSEN = $(strip $(foreach t,$(SCRIPTS) $(UNITS),\
	$(if $(or $(if $(TEST),,all),$(findstring $(TEST),$(t:$(B)/%=%))),$(t))))
test: setup
	@[ -n '$(CHOSEN)' ] || { echo "make test: no test has '$(TEST)' in its name"; exit 1; }
	@$(BUILDS)
	@$(MAKE) --no-print-directory -j$$(nproc) all $(if $(filter %.sh,$(CHOSEN)),tests,$(CHOSEN))
	@BORESIDE=$(abspath $(EXE)) BUILD=$(abspath $(B)) DATA=$(abspath $(DATA)) \
		bash test/run.sh $(CHOSEN)

# kill -9 over all that takes part in a scan, KILLS times; SEED decides whom and when
KILLS   ?= 1000
SEED    ?= 1
BACKEND ?= host
kill: $(EXE) $(B)/test/fault/fault_campaign
	@BORESIDE=$(abspath $(EXE)) $(B)/test/fault/fault_campaign $(KILLS) $(SEED) $(BACKEND)

# Scans as consoles and converters change them: each row of the tables on all its bases, 300 pairs
# of rows; the seed is another each time, and printed
MUTATE_SEED ?=
mutate: setup
	@$(MAKE) --no-print-directory -j$$(nproc) all $(MUTATE)
	@BORESIDE=$(abspath $(EXE)) $(MUTATE) --all $(MUTATE_SEED)

# What a service holds over so many seconds at a scanner's pace, over so many messages, and beside
# so many hostile connections and messages
SOAK_S   ?= 3600
MESSAGES ?= 10000000
HOSTILE  ?= 1000000
soak: $(EXE) $(B)/test/fault/fault_soak $(B)/test/fault/fault_crowd
	@BORESIDE=$(abspath $(EXE)) $(B)/test/fault/fault_soak real $(SOAK_S)
	@BORESIDE=$(abspath $(EXE)) $(B)/test/fault/fault_soak fast $(MESSAGES)
	@BORESIDE=$(abspath $(EXE)) $(B)/test/fault/fault_crowd flood $(HOSTILE)

# Which lines and branches of what reads, carries and decides the tests reach: a build of its own,
# gcov's table of the sources. A process that is killed has written no counts.
COVERED_ROOMS := core ipc board
coverage: setup
	@$(MAKE) --no-print-directory CC=gcc GPU=0 COVERED=1 covered
covered:
	@$(MAKE) --no-print-directory -j$$(nproc) all tests
	@find $(B) $(O) -name '*.gcda' -delete
	@BORESIDE=$(abspath $(EXE)) BUILD=$(abspath $(B)) DATA=$(abspath $(DATA)) \
		bash test/run.sh $(SCRIPTS) $(UNITS) || true
	@sh test/coverage.sh $(B) $(O) $(COVERED_ROOMS)

# Which files a readout and an image enter, against the tables of board/doc/ARCHITECTURE.md
walk: setup
	@$(MAKE) --no-print-directory CC=gcc GPU=0 TRACED=1 walked
walked:
	@$(MAKE) --no-print-directory -j$$(nproc) $(EXE) $(B)/test/walk/walk_hook.so
	@BORESIDE=$(abspath $(EXE)) BUILD=$(abspath $(B)) bash test/run.sh test/walk/walk.sh

# What threads and processes share, under the thread sanitizer (SANITIZE=thread).
SHARED := $(addprefix $(B)/test/,$(addprefix unit/,core/test_ring core/test_pool core/test_team \
          core/test_event core/test_hist core/memory/test_stamp ipc/test_shm \
          drivers/log/test_store) fault/fault_takers)
tsan: $(SHARED) $(EXE)
	@BORESIDE=$(abspath $(EXE)) bash test/run.sh $(SHARED)

# Ingest under a simulated network, disk and process table: test/simulate/simulate.h
SCHEDULES ?= 1000000
FIRST     ?= 1
simulate: setup
	@$(MAKE) --no-print-directory -j$$(nproc) $(SIMULATE)
	@$(SIMULATE) --schedules $(SCHEDULES) --first $(FIRST) --jobs $$(nproc)

# For aarch64, where Debian's cross compiler and arm64 libraries are: test/package/cross.sh
cross:
	@$(MAKE) --no-print-directory CC=aarch64-linux-gnu-gcc MACHINE=aarch64 GPU=0 all units
units: $(filter $(B)/test/unit/%,$(UNITS))

tests: $(UNITS) $(EXE) $(BENCH) $(PAPER) $(B)/test/support/alloc_hook.so \
       $(B)/test/support/block_hook.so $(B)/test/support/fail_hook.so \
       $(B)/test/support/disk/gone_hook.so $(B)/test/support/nvml_hook.so \
       $(B)/test/support/recording/flow $(B)/test/support/recording/multiband \
       $(B)/test/support/recording/shifted \
       $(B)/test/support/step/unruly $(EXAMPLES:%.c=$(B)/%) \
       $(B)/test/unit/board/thread_hook.so
tools: $(TOOLS)

bench: setup
	@sh board/deploy/setup.sh libfftw3-dev
	@$(MAKE) --no-print-directory -j$$(nproc) all $(BENCH)
	@$(BENCH)
	@$(BENCH) service

# others' programs on the same work, in the same run: build/rivals-report/rivals.md
rivals: setup
	@$(MAKE) --no-print-directory -j$$(nproc) $(BENCH)
	@bash test/bench/rivals/run.sh -b $(B) -t $$(nproc)

reproduce ladder: setup
	@$(MAKE) --no-print-directory -j$$(nproc) $(PAPER)
	@$(PAPER) $@ $(if $(filter reproduce,$@),-o build/reproduce)

# board/service/allocs.c counts what our own threads allocate, and what the CUDA runtime does
ALLOCS := $(filter %/service/allocs.o,$(OBJ))
TOOL_OBJ := $(filter $(foreach r,$(ROOMS),$(B)/$(r)/tool/% $(O)/$(r)/tool/%),$(OBJ))
LEAN_OBJ := $(filter-out $(TOOL_OBJ) $(ALLOCS),$(OBJ))
WRAP := $(call wrap,malloc calloc realloc aligned_alloc posix_memalign mmap)

$(EXE): $(B)/board/tool/main.o $(ALLOCS) $(TOOL) $(LIB)
	$(CC) $(SAN) $(WRAP) -o $@ $^ $(LDLIBS)

# They hold the paths of their objects (thin), so the linker's map has those.
$(TOOL): $(TOOL_OBJ)
$(LIB): $(LEAN_OBJ)
$(TOOL) $(LIB):
	@rm -f $@
	ar rcs --thin $@ $^

# What a scan needs, linked without the tools: fails where it needs one.
$(DAEMON): $(B)/board/main.o $(ALLOCS) $(LIB)
	$(CC) $(SAN) $(WRAP) -Wl,-Map=$@.map -o $@ $^ $(LDLIBS)
lean: $(DAEMON)
	@bash .ci/lines $(DAEMON).map $(GPU) $(LEAN_OBJ)

$(B)/test/%: $(B)/test/%.o $(ALLOCS) $(TOOL) $(LIB)
	$(CC) $(SAN) $(WRAP) -o $@ $(filter %.o,$^) $(TOOL) $(LIB) $(LDLIBS)

# A step has a header of this project and nothing else, but for what lies beside it.
$(EXAMPLES:%.c=$(B)/%): $(B)/%: %.c ipc/step.h
	@mkdir -p $(@D)
	$(CC) -std=c17 -O3 $(WARN) -I. -DBS_GPU=$(GPU) -o $@ $(filter %.c %.o,$^) \
		$(CUDA:%=-L%/lib64 -lcudart_static -lstdc++ -lrt -lpthread) -lm -ldl

# Test programs of several sources: the benches, the papers' experiments, the twin of their ladders.
cu_objects = $(if $(filter 1,$(GPU)),$(patsubst %.cu,build/cuda/%.cu.o,$(call find,$(1),*.cu)))
objects    = $(patsubst %.c,$(B)/%.o,$(call find,$(1),*.c)) $(call cu_objects,$(1))
$(BENCH): $(call objects,test/bench)
$(BENCH): private LDLIBS += $(if $(FFTW),-lfftw3f_threads -lfftw3f) \
	$(if $(filter 1,$(GPU)),-lcufft -Wl$(comma)-rpath$(comma)$(CUDA)/lib64) # rivals in it
$(B)/test/bench/plain.o: CFLAGS += $(if $(FFTW),-DBS_FFTW)
$(PAPER): $(call objects,test/paper) $(B)/test/bench/rows.o $(B)/test/bench/inputs.o
$(B)/test/twin/twin_ladder: $(call cu_objects,test/paper/ladder)
$(B)/drivers/step/register/register: drivers/step/register/register.h \
	$(call cu_objects,drivers/step/register)
# Peers that know ipc/WIRE.md alone, and the tests that they take part in.
PEERED := $(shell grep -rl --include='*.c' '"test/.*peers/' test/fault test/replay test/unit)
$(PEERED:%.c=$(B)/%): $(call objects,test/peers)
MUTATE := $(B)/test/mutate/mutate
$(MUTATE): $(call objects,test/mutate test/peers)

# The simulator stops and kills real code between any two of its steps: those sources are built for
# it, with each step counted and their variables in sections that it can set anew (but gcov's).
SIMULATE := $(B)/test/simulate/simulate
STEPPED  := $(patsubst %.c,$(B)/stepped/%.o,$(call find,board/emit board/ingest board/log,*.c) \
            core/whole.c drivers/step/door.c \
            $(addprefix drivers/log/,cursor.c parts.c store.c storefile.c storesize.c writer.c))
$(SIMULATE): $(call objects,test/simulate) $(B)/test/peers/rules.o $(STEPPED)
$(SIMULATE): private SAN += $(call wrap,bs_usage_publish bs_rt_enter bs_rt_lock bs_rt_enter_log \
	bs_rt_leave bs_log bs_log_open bs_log_next bs_log_again bs_log_close bs_log_folder_list \
	bs_signer_read bs_store_append bs_status_serve bs_status_stop bs_sink_find bs_sink_open \
	bs_sink_close bs_folder_make \
	bs_folder_gone bs_draft_sweep bs_endpoint_bind bs_endpoint_bind_sealed bs_endpoint_asker \
	bs_endpoint_send bs_endpoint_recv \
	bs_endpoint_connections bs_endpoint_connections_now bs_endpoint_unsent \
	bs_endpoint_close bs_endpoint_tune_malloc pthread_mutex_lock pthread_cond_wait \
	pthread_cond_timedwait pthread_cond_broadcast pthread_create pthread_join sem_wait \
	nanosleep poll ppoll eventfd read write clock_gettime open openat close pread pwrite \
	fdatasync fsync posix_fadvise ftruncate fchmod flock renameat2 unlink unlinkat fstat \
	fstatat access faccessat getrandom opendir readdir dirfd closedir bs_door_run socket \
	connect bind chmod listen accept4 memfd_create fallocate fcntl munmap sendmsg recv syscall)
# Its scans are short: what is large in the service is small here.
SMALL := -DBS_LOG_COMMIT_BYTES=8192u -DBS_LOG_SEGMENT=65536u -DBS_WIRE_OPEN_MAX=8192u \
         -DBS_HELD_MAX=32u
$(B)/test/simulate/%.o: CFLAGS += $(SMALL)
$(B)/stepped/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SMALL) -DSIMULATE_STEPPED -include test/simulate/step.h \
		-fsanitize-coverage=trace-pc -c -o $@ $<
	$(CROSS)objcopy $$($(CROSS)objdump -h $@ | awk '$$2 ~ /^\.(bss|data)(\.|$$)/ && \
		$$2 !~ /gcov|\.rel(\.|$$)/ { split($$2, part, "."); \
		print "--rename-section", $$2 "=worker_" part[2] }') $@

# Preloaded by tests: counts allocations, hangs the disk, has a thread; never sanitized themselves.
$(B)/test/%_hook.so: test/%_hook.c test/support/alloc_hook.h
	@mkdir -p $(@D)
	$(CC) -std=c17 -O2 $(WARN) -I. -shared -fPIC -o $@ $< -ldl

# fault_gpu is a service with seams
$(B)/test/fault/fault_gpu: private SAN += $(call wrap,bs_recon_readout bs_armed_on_gpu)

# test_probe has threads that start slowly
$(B)/test/unit/drivers/test_probe: private SAN += $(call wrap,pthread_create)

# test_log_faults is another one
$(B)/test/unit/drivers/log/test_log_faults: private SAN += $(call wrap,open openat pwrite \
	fdatasync fsync ftruncate fchmod flock renameat2 unlinkat getrandom)

# test_selftest plants faults in engines
$(addprefix $(B)/test/,unit/board/tool/test_selftest fault/start/fault_selftest): private SAN += \
	$(call wrap,bs_engine_find)

# as is test_store_faults
$(B)/test/unit/drivers/log/test_store_faults: private SAN += $(call wrap,pread pwrite)

# and test_keeper and test_required one that is full, or hangs
$(addprefix $(B)/test/unit/board/log/,test_keeper test_required): private SAN += \
	$(call wrap,pwrite fdatasync)

# in test_ingest the machine's clocks are the test's
$(B)/test/unit/board/test_ingest: private SAN += $(call wrap,clock_gettime)
# in test_front an archive connects while it is sent an image
$(B)/test/unit/board/emit/test_front: private SAN += $(call wrap,nn_sendmsg)

# these count what is allocated after arm, choose between NCCL and copies, or both
ifeq ($(GPU),1)
DEVICES := $(patsubst %.c,$(B)/%,$(wildcard test/twin/twin_devices*.c))
ENGINES := $(patsubst %.c,$(B)/%,$(wildcard test/twin/engine/twin_engine*.c))
$(ENGINES) $(DEVICES): private SAN += \
	$(call wrap,cudaMalloc cudaFree cudaHostAlloc cudaHostRegister)
$(BENCH) $(DEVICES): private SAN += $(call wrap,bs_link_open)
endif

$(B)/gpu/%.o $(O)/gpu/%.o $(O)/core/study/gram.o: CFLAGS += $(FAST)
ifneq ($(COVERED),)
COVER := -O1 --coverage -fprofile-update=atomic -fprofile-abs-path
LDLIBS += --coverage
$(foreach r,$(COVERED_ROOMS),$(eval $(B)/$(r)/%.o $(O)/$(r)/%.o: CFLAGS += $(COVER)))
$(B)/stepped/%.o: CFLAGS += $(COVER) -fdata-sections
endif
$(B)/%.o: CFLAGS += -DBS_GPU=$(GPU) $(CUDA:%=-I%/include)
$(O)/%.o: CFLAGS += -DBS_GPU=@ # no expression: who asks lies in B
ifeq ($(MACHINE),aarch64)
# gcc 12 ends with an internal error over maxima of doubles that it makes vectors of
$(B)/test/%.o: CFLAGS += -fno-tree-loop-vectorize
endif
$(B)/test/bench/plain.o: CFLAGS += $(FAST) -ffast-math # the papers' own loop as they compiled it
define c_rule
$(1)/%.o: %.c Makefile
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) -c -o $$@ $$<
endef
$(foreach d,$(B) $(O),$(eval $(call c_rule,$(d))))

# the page is part of it
$(B)/board/web/page.o $(O)/board/web/page.o: $(wildcard board/web/page.*s board/web/*.js) \
	board/web/page.html

define simd_rule
$(O)/%_simd.$(1).o: %_simd.c Makefile
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $$(FAST) -ffp-contract=fast -fno-math-errno $$(ISA_$(1)) -DBS_ISA=$(1) \
		-c -o $$@ $$<
endef
$(foreach i,$(ISAS),$(eval $(call simd_rule,$(i))))

build/cuda/%.cu.o: %.cu Makefile
	@mkdir -p $(@D)
	$(NVCC) $(NVFLAGS) $(or $(CUARCH_$(notdir $*)),$(CUARCH)) -MMD -MP \
		-MF build/cuda/$*.cu.d -c -o $@ $<

# libFuzzer wants clang and its own main; the library is built again under the sanitizers.
FUZZ_SECONDS ?= 600
FUZZERS := $(patsubst test/fuzz/%.c,%,$(wildcard test/fuzz/fuzz_*.c))
FUZZ_B  := build/clang-gpu0-fuzzer-no-link-address-undefined/test/fuzz
fuzz:
	@$(MAKE) --no-print-directory CC=clang GPU=0 \
		SANITIZE=fuzzer-no-link,address,undefined fuzzers
	@for f in $(FUZZERS); do \
		echo "$$f: $(FUZZ_SECONDS) s" && mkdir -p build/corpus/$$f && \
		dict=$$(ls test/fuzz/$$f.dict 2>/dev/null) ; \
		seed=$$(ls -d test/fuzz/seed/$$f 2>/dev/null) ; \
		UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 $(FUZZ_B)/$$f \
			-max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 \
			-rss_limit_mb=4096 -artifact_prefix=build/ $${dict:+-dict=$$dict} \
			build/corpus/$$f $$seed || exit 1; \
	done
fuzzers: $(patsubst %.c,$(B)/%,$(wildcard test/fuzz/fuzz_*.c))
# Without the operators: none is fuzzed, and they take minutes to compile this way.
$(B)/libfuzzed.a: $(filter-out $(B)/gpu/% $(B)/board/% $(O)/gpu/% $(O)/board/%,$(OBJ))
	@rm -f $@
	ar rcs $@ $^

$(B)/test/fuzz/%: $(B)/test/fuzz/%.o $(B)/libfuzzed.a
	$(CC) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LDLIBS)

# One clang-tidy a source, a process a core, words only for findings; .clang-tidy says which.
TIDIED := $(SRC) $(SIMD) $(MAINS) \
          $(filter-out %/service.c test/bench/stream/%,$(call find,test/bench test/paper,*.c))
TIDY   = -std=c17 -pthread -DBS_ISA=v3 $(if $(filter x86_64,$(MACHINE)),$(ISA_v3)) \
         -DBS_GPU=$(GPU) $(CUDA:%=-I%/include) $(filter -I% -D%,$(CFLAGS))
lint: format limits tidy
limits:
	@bash .ci/limits
	@bash .ci/pages
format:
	clang-format --dry-run -Werror $$(git ls-files '*.c' '*.h' '*.cu' '*.cuh')
tidy:
	@echo 'clang-tidy: $(words $(TIDIED)) sources'
	@printf '%s\n' $(TIDIED) | xargs -n 1 -P $$(nproc) sh -c \
		'said=$$(clang-tidy --quiet "$$1" -- $(TIDY) 2>&1) || \
		{ echo "$$said"; exit 1; }' lint

hooks:
	install -m 755 .ci/pre-commit "$$(git rev-parse --git-path hooks)/pre-commit"

# Builds nothing, so that it may run as another user than make did. TELLS is a program that runs
# here and has the same help as what is installed: man pages and completions are made from that.
TELLS  ?= $(EXE)
SHARE  := $(DESTDIR)$(PREFIX)/share
BIN    := $(DESTDIR)$(PREFIX)/bin
UNIT   := $(DESTDIR)$(if $(filter /usr,$(PREFIX)),,$(PREFIX))/lib/systemd/system
USERS  := $(DESTDIR)$(PREFIX)/lib/sysusers.d/boreside.conf
PLACES := $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/boreside.conf
DOC    := $(SHARE)/doc/boreside
INCLUDE := $(DESTDIR)$(PREFIX)/include/boreside
BASH   := $(SHARE)/bash-completion/completions/boreside
ZSH    := $(SHARE)/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)/_boreside
DEPLOY := board/deploy
install:
	@test -x $(EXE) || { echo 'make install: $(EXE) is not there: make, first'; exit 1; }
	install -d $(BIN) $(UNIT) $(dir $(USERS) $(PLACES) $(BASH) $(ZSH)) $(DOC)/config
	install -m 755 $(EXE) $(BIN)/boreside
	for unit in $(notdir $(wildcard $(DEPLOY)/*.service)); do \
		sed 's|/usr/local/|$(PREFIX)/|g' $(DEPLOY)/$$unit >$(UNIT)/$$unit && \
		chmod 644 $(UNIT)/$$unit || exit 1; \
	done
	install -m 644 $(DEPLOY)/boreside.sysusers $(USERS)
	install -m 644 $(DEPLOY)/boreside.tmpfiles $(PLACES)
	sh $(DEPLOY)/man/make.sh $(TELLS) $(SHARE)/man
	sh $(DEPLOY)/man/complete.sh $(TELLS) bash >$(BASH)
	sh $(DEPLOY)/man/complete.sh $(TELLS) zsh >$(ZSH)
	install -m 644 README.md LICENSE CHANGELOG.md ipc/WIRE.md $(DOC)
	install -d $(INCLUDE) $(DOC)/step
	install -m 644 ipc/step.h $(INCLUDE)
	for step in $(wildcard drivers/step/*/*); do \
		sed -e 's|"ipc/step.h".*|<boreside/step.h>|' \
			-e 's|^\(#include "\)drivers/step/[a-z]*/\([^"]*"\).*|\1\2|' $$step \
			>$(DOC)/step/$${step##*/} && \
		chmod 644 $(DOC)/step/$${step##*/} || exit 1; \
	done
	install -m 644 $(wildcard board/doc/*.md board/doc/*.py) $(DOC)
	install -m 644 drivers/sink/DICOM.md $(wildcard $(DEPLOY)/*.yml) $(DOC)
	install -m 644 $(wildcard config/*.cfg config/*.cfl config/*.hdr config/*.md) $(DOC)/config

uninstall:
	rm -f $(BIN)/boreside $(USERS) $(PLACES) \
		$(addprefix $(UNIT)/,$(notdir $(wildcard $(DEPLOY)/*.service)))
	rm -f $(BASH) $(ZSH) $(addprefix $(SHARE)/man/,man1/boreside.1 man1/boreside-*.1 \
		man5/boreside.cfg.5 man7/boreside-wire.7)
	rm -rf $(DOC) $(INCLUDE)

# Debian packages in build/deb: boreside for the host, boreside-cuda where nvcc is.
deb:
	@sh board/deploy/setup.sh debhelper
	@$(MAKE) --no-print-directory GPU=0 deb-boreside
	@[ '$(GPU)' = 0 ] || $(MAKE) --no-print-directory GPU=1 deb-boreside-cuda
deb-boreside deb-boreside-cuda: deb-%: $(EXE)
	@MAKE='$(MAKE)' NVCC='$(NVCC)' sh board/deploy/debian/build.sh $* $(EXE) build/deb

clean:
	rm -rf build

-include $(shell find $(B) $(O) build/cuda -name '*.d' 2>/dev/null)
