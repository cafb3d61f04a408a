# Thin: every target is one command of `python -m checker`, or of a tool.
#
#   PUZZLE=p4      which puzzle (4 is short for p4); none: all of them
#   FILE=…         another file or notebook than puzzles/p4_*.py
#   DEVICE=…       interpreter (default), cuda or auto
#   FULL=1         for check: all of the report
#   GUESS=…        for predict: guesses by name, such as GUESS="k_reads=4 o_writes=2"; none: the questions
#   AGAIN=1        only the hints seen so far
#   HELP=1         for reset: the stub with the solution's comments; HELP=2: the solution with some holes
#   EVERY=1        bench every size, not only the usual ones
#   STEPS=…        how long to train
#   BEFORE=…       for compiled: an older version, to be shown next to yours
#   SIZE=…         for compiled: the timed size that has these words in its name; LAUNCH="Br=128 num_warps=8": another launch
#   STAGE=…        for compiled: print a text of the compiler, ttgir, llir or ptx
#   TARGETS=…      GPUs to compile for: sm_90 (default), sm_80, gfx942 and others, separated by commas, or all
#   PYTHON=…       the Python that .venv is made with
#   VENV=…         use this environment as it is, and install nothing
#   LIGHT=1        check without Triton itself, as on macOS: 120 MB to install

SHELL := /bin/sh

# What is said stays as it was typed. Make would run $(shell …) of a file's name, also where it only hands the variable
# on to a recipe; and a shell would run its backticks. So it is expanded nowhere, and a recipe has it as "$$FILE".
said := AGAIN BEFORE DEVICE EVERY FILE FULL GUESS LAB LAUNCH LIGHT PUZZLE PYTHON SIZE STAGE STEPS TARGETS VENV
said += AGAINST ASSIGNMENT COURSE CLUSTER CSV DAYS DUE EXCHANGE FAILS FIX FOLDER FORCE HELP ID JOBS KIND LINE LMS NAMES NUMBER ONLY PORT PROPERTIES PYODIDE PYTHONS
said += RELEASE ROSTER SERVE SITE SLICE STUDENT TESTS
is_said = $(filter command,$(origin $(1)))$(and $(filter environment,$(origin $(1))),$(filter $(said),$(1)))
$(foreach name,$(filter-out MAKE%,$(.VARIABLES)),$(if $(call is_said,$(name)),$(eval override $(name) := $$(value $(name)))$(eval export $(name))))

quoted = '$(subst ','\'',$(1))'

-include environment.mk # an installed package says here which VENV is its own
.DEFAULT_GOAL := help

PYTHON ?= python3

ifdef VENV
  export VENV
  layer = needs-$(1)
else
  layer = .venv/.layer-$(1)
  # Look at .venv only if something is going to be run: not for `make help`, `make clean`, `make -n`.
  ifneq ($(filter-out help clean,$(MAKECMDGOALS)),)
    ifeq ($(findstring n,$(firstword -$(MAKEFLAGS))),)
      override PYTHON := $(shell checker/venv.sh $(call quoted,$(PYTHON)) $(if $(filter default undefined file,$(origin PYTHON)),kept,given))
      ifeq ($(PYTHON),)
        $(error nothing was done)
      endif
    endif
  endif
endif

# Without Triton itself, whose Python files a check fetches.
light = $(or $(filter 1,$(LIGHT)),$(if $(VENV),,$(wildcard .venv/light.txt)),$(filter Darwin,$(shell uname -s)))

check_size = $(if $(light),about 120 MB on disk,about 800 MB on disk, 220 MB to download)
plot_size  := about 80 MB on disk
lab_size   := about 400 MB on disk
torch_size := about 870 MB on disk with a CPU build of PyTorch, several GB with a CUDA build

bin = $${VENV:-.venv}/bin
# An option with what was said, and an argument of its own; nothing if nothing was said.
option = $${$(2):+$(1) "$$$(2)"}
argument = $${$(1):+"$$$(1)"}

# Make calls exit status 4 (the stub as shipped) a success: it says what to do next.
checker = PYTHONPATH="$$PWD" "$(bin)/python" -m checker
# What bench and train call once there is something to draw.
drawing = $(if $(VENV),,CHECKER_INSTALL_MATPLOTLIB="make -s .venv/.layer-plot")
friendly = || { status=$$?; test $$status -eq 4 || exit $$status; }
# A page of a refused kernel is what was asked for, too.
drawn = || { status=$$?; test $$status -eq 4 || test $$status -eq 1 || exit $$status; }

.PHONY: help ready check watch hint predict progress reset lab torch step own trace bench compiled train verify doctor clean needs-check needs-lab needs-torch

help: ## this list
	@{ grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/'; \
	echo "  Start with: ./check w1"; } | expand -t 23 || : # whoever reads it may stop

ready: $(call layer,check) # for ./check: which Python it is
	@cd "$(bin)" && echo "$$PWD/python" >&3

check: $(call layer,check) ## check one puzzle (PUZZLE=p1), or all
	@$(checker) check $(call argument,PUZZLE) $(call option,--file,FILE) --device "$${DEVICE:-interpreter}" $(call option,--targets,TARGETS) $(if $(FULL),--full) $(friendly)

watch: $(call layer,check) ## check whenever a puzzle's file or notebook is saved (PUZZLE=p1: only that one)
	@$(checker) watch $(call argument,PUZZLE)

hint: $(call layer,check) ## the next hint for PUZZLE=p4 (AGAIN=1: those seen so far)
	@$(checker) hint $(call argument,PUZZLE) $(if $(AGAIN),--again)

predict: $(call layer,check) ## guess a number (GUESS="k_reads=4"), and see what your accepted kernel of PUZZLE=p5 did
	@$(checker) predict $(call argument,PUZZLE) $$GUESS $(call option,--file,FILE) $(friendly)

progress: $(call layer,check) ## what is solved, and which file comes next
	@$(checker) progress

reset: $(call layer,check) ## the stub of PUZZLE=p4 again, with a backup of your files (HELP=1: with the solution's comments)
	@$(checker) reset $(call argument,PUZZLE) $(call option,--file,FILE) $(call option,--level,HELP)

lab: $(call layer,lab) ## the notebooks in JupyterLab (LAB="--no-browser …": options of its own)
	@$(checker) lab $$LAB

torch: $(call layer,torch) ## PyTorch, for the puzzles that are written in it

step: $(call layer,check) ## step through your kernel of PUZZLE=p6, line by line (PROGRAM=1, SIZE="words of a launch's name")
	@$(checker) step $(call argument,PUZZLE) $(call option,--file,FILE) $(call option,--program,PROGRAM) $(call option,--size,SIZE) $(drawn)

verify: $(call layer,check) $(call layer,torch) ## check a softmax or an attention of your own, FILE=my_attention.py
	@$(checker) verify $(call argument,FILE)

own: verify

trace: $(call layer,check) ## draw which tiles PUZZLE=p5 loads and stores, in which order
	@$(checker) trace $(call argument,PUZZLE) $(call option,--file,FILE) $(drawn)

bench: $(call layer,check) ## time PUZZLE=p6 on a GPU against its peers and the roofline; without a GPU, predict
	@$(drawing) $(checker) bench $(call argument,PUZZLE) $(call option,--file,FILE) $(if $(EVERY),--every) $(friendly)

compiled: $(call layer,check) ## what the compiler made of PUZZLE=p6, line by line, and what costs time; no GPU is needed (TARGETS=sm_80)
	@$(checker) compiled $(call argument,PUZZLE) $(call option,--file,FILE) $(call option,--before,BEFORE) $(call option,--targets,TARGETS) $(call option,--size,SIZE) $(call option,--launch,LAUNCH) $(call option,--stage,STAGE) $(friendly)

train: $(call layer,check) $(call layer,torch) ## train a small GPT with your own attention kernels (DEVICE=cuda: a larger one, on a GPU)
	@$(drawing) $(checker) train $(call option,--file,FILE) --device $(if $(filter cuda,$(DEVICE)),cuda,cpu) $(call option,--steps,STEPS)

doctor: $(call layer,check) ## what this machine can do, what is missing and how to get it
	@$(checker) doctor

# What only the full repository has; students' copies end here.
-include instructor.mk

clean: ## remove what make has installed; never a file of yours
	rm -rf $(patsubst %/,%,$(dir $(firstword $(wildcard .venv/.begun .venv/.made-for)))) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

# --- what is installed, in layers; an up-to-date stamp means no network and no delay ---

# Only files whose hashes stand in these locks are installed; PyTorch alone comes from where pip finds it.
locked = .venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes $(patsubst %,-r locks/%.txt,$(if $(light),$(patsubst check,../.venv/light,$(1)),$(1)))

.venv/.made-for:
	@checker/supported.sh $(call quoted,$(PYTHON))
	@mkdir -p .venv && touch .venv/.begun # what says that it may be removed
	@$(call quoted,$(PYTHON)) -m venv .venv
	@{ pwd; printf '%s\n' $(call quoted,$(PYTHON)); readlink -f .venv/bin/python; } > $@

.venv/light.txt: locks/check.txt | .venv/.made-for
	@sed '/^triton==/,/[^\\]$$/d' $< > $@

.venv/.layer-check: pyproject.toml locks/check.txt $(if $(light),.venv/light.txt) | .venv/.made-for
	@echo "Installing into .venv what checking needs: $(check_size). This happens once."
	@$(if $(whole_size),echo "$(whole_size)",:)
	@$(call locked,check)
	@.venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.venv/.layer-plot: locks/plot.txt .venv/.layer-check
	@echo "Installing into .venv what pictures need: $(plot_size). This happens once."
	@$(call locked,check plot)
	@touch $@

.venv/.layer-torch: .venv/.layer-check
	@echo "Installing PyTorch into .venv: $(torch_size). This happens once."
	@# A CPU build, if pip knows a place that has one: it goes for the same version, and is a tenth of the size.
	@.venv/bin/python -m pip install -q --disable-pip-version-check "torch==$$(sed -n 's/^torch==//p' constraints.txt)+cpu" 2>/dev/null || :
	@# And what files from elsewhere often import beside it.
	@.venv/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt torch einops 'jaxtyping; python_version >= "3.11"'
	@touch $@

.venv/.layer-lab: locks/lab.txt .venv/.layer-check
	@echo "Installing into .venv what notebooks need: $(lab_size). This happens once."
	@$(call locked,check plot lab)
	@mkdir -p .venv/share/jupyter/lab/settings && cp checker/notebook/jupyterlab.json .venv/share/jupyter/lab/settings/overrides.json
	@touch $@

# --- with VENV=…: say what is missing ---

missing = "$(bin)/python" -c "import importlib.util as u, os, sys; m = [n for n in sys.argv[1:] if u.find_spec(n) is None]; m and sys.exit(os.environ['VENV'] + ' has no ' + ', '.join(m) + '. Install it there, or leave VENV out.')"

needs-check:
	@test -x "$(bin)/python" || { printf '%s has no bin/python: name the folder of a virtual environment.\n' "VENV=$$VENV"; exit 2; }
	@$(missing) $(if $(light),,$(if $(wildcard checker),triton)) numpy click rich watchfiles
needs-torch: needs-check
	@$(missing) torch
needs-lab: needs-check
	@$(missing) jupyterlab jupytext matplotlib msgspec nbgrader
