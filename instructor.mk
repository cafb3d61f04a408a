# For instructors and authors: what `Makefile` includes if it is here. Students' copies have no such file.
#
#   FORCE=1        the solution, even if the puzzle is not solved
#   COURSE=…       the folder of the nbgrader course (course)
#   ASSIGNMENT=…   an assignment of the course, such as p1_naive_softmax, or p1 (handout, round, extension)
#   DUE=…          its deadline, such as DUE="2030-05-10 12:00 UTC" (handout); DAYS=2: so many more for STUDENT=anna (extension)
#   RELEASE=1      release the feedback as well (round)
#   EXCHANGE=…     the folder through which nbgrader hands out and collects, for a new course
#   LMS=…          the learning platform that has exported ROSTER=…: canvas or moodle (grades)
#   CLUSTER=…      who grades: local, or the address of a Dask scheduler (grade)
#   STUDENT=…      a student's name, as nbgrader knows it; NAMES=1: name those whom a page is about (class)
#   AGAINST=…      a folder of an earlier class, with which this one is compared (similar)
#   SITE=…         the folder of the site (build/site); SERVE=1: show it as well, at PORT=8000; PYODIDE=cdn: pages take Python from its public address (site)
#   TESTS=…        some files of tests (test, test-all, test-costs)
#   SLICE=…        a slice of the tests or the mutants, as `make test` has named it (test, mutants)

cluster_size := about 60 MB on disk
site_size  := about 80 MB on disk
test_size  := about 250 MB on disk
ifneq ($(filter test test-all test-costs mutants puzzle lint locks,$(MAKECMDGOALS)),)
  whole_size := With what the tests need, about 2.5 GB in all, more with a CUDA build of torch.
endif

pytest = "$(bin)/python" -m pytest -q -n auto --dist worksteal

.PHONY: solution bug course handout round extension grade grades class similar viva ideas gradescope student-bundle wheel site test test-all test-costs mutants versions puzzle locks size words lint needs-cluster needs-site needs-test

solution: $(call layer,check) ## the solution of PUZZLE=p4, explained, once yours is accepted (FORCE=1: before)
	@$(checker) solution $(call argument,PUZZLE) $(if $(FORCE),--force)

bug: $(call layer,check) ## find the mistake in a kernel of PUZZLE=p4, or one that a public project had, MUSEUM=1, once yours is accepted (LINE=17 FAILS="half", then FIX=1)
	@$(checker) bug $(call argument,PUZZLE) $(call option,--museum,MUSEUM) $(call option,--number,NUMBER) $(call option,--line,LINE) $(call option,--fails,FAILS) $(if $(FIX),--fix)

course: $(call layer,lab) ## for instructors: make an nbgrader course in COURSE=course, or bring it up to date
	@$(checker) course $(call argument,COURSE) $(call option,--exchange,EXCHANGE)

handout: $(call layer,lab) ## for instructors: hand out ASSIGNMENT=p1_naive_softmax of COURSE=course (DUE="2030-05-10 12:00 UTC")
	@$(checker) handout $(call argument,ASSIGNMENT) --course "$${COURSE:-course}" $(call option,--due,DUE)

round: $(call layer,lab) ## for instructors: collect, grade, write feedback and export, at any time again (ASSIGNMENT=p1_naive_softmax, RELEASE=1)
	@$(checker) round $(call argument,ASSIGNMENT) --course "$${COURSE:-course}" $(call option,--jobs,JOBS) $(if $(RELEASE),--release)

extension: $(call layer,lab) ## for instructors: STUDENT=anna has DAYS=2 more for ASSIGNMENT=p1_naive_softmax of COURSE=course
	@$(checker) extension $(call argument,ASSIGNMENT) $(call option,--student,STUDENT) $(call option,--days,DAYS) --course "$${COURSE:-course}"

grade: $(call layer,$(if $(CLUSTER),cluster,lab)) ## for instructors: grade all that COURSE=course has collected, on all cores (JOBS=2, CSV=FILE, PROPERTIES=FILE)
	@$(checker) grade --course "$${COURSE:-course}" $(call argument,FILE) $(call option,--jobs,JOBS) $(call option,--cluster,CLUSTER) $(call option,--csv,CSV) $(call option,--properties,PROPERTIES)

class: $(call layer,lab) ## for instructors: what the class in COURSE=course did, on one page (NAMES=1), or one student's attempts (STUDENT=anna)
	@$(checker) class-report --course "$${COURSE:-course}" $(call option,--student,STUDENT) $(if $(NAMES),--names) $(call option,--file,FILE)
grades: $(call layer,lab) ## for instructors: fill the grades of COURSE=course into ROSTER=export.csv, which LMS=canvas or moodle has written (FILE=…)
	@$(checker) grades --course "$${COURSE:-course}" $(call option,--lms,LMS) $(call option,--to,FILE) $(call argument,ROSTER)

similar: $(call layer,lab) ## for instructors: which submissions in COURSE=course share passages that few others have (PUZZLE=p4, AGAINST=last-year/submitted, FILE=similar.html)
	@$(checker) similar --course "$${COURSE:-course}" $(call option,--puzzle,PUZZLE) $(call option,--against,AGAINST) $(call option,--file,FILE)

viva: $(call layer,lab) ## for instructors: questions to each student on their own accepted kernel of PUZZLE=p4 (COURSE=course, STUDENT=NAME, JOBS=2, FILE=viva-p4.html)
	@$(checker) viva $(call argument,PUZZLE) --course "$${COURSE:-course}" $(call option,--student,STUDENT) $(call option,--jobs,JOBS) $(call option,--file,FILE)

ideas: $(call layer,check) ## for instructors: the mistakes that reports on PUZZLE=p4 name, in their words, with kernels that make them
	@$(checker) ideas $(call argument,PUZZLE)

gradescope: $(call layer,lab) ## for instructors: an autograder for Gradescope, of PUZZLE=p4 or of all that the course has (FILE=gradescope.zip, COURSE=course)
	@$(checker) gradescope $(call argument,PUZZLE) --course "$${COURSE:-course}" $(call option,--file,FILE)

student-bundle: $(call layer,lab) ## for instructors: the course without solutions, tests and grading, as one archive
	@$(checker) student-bundle $(call argument,FILE)

wheel: $(call layer,check) ## for authors: the course as a package for pip, in build/wheel
	@rm -rf build/wheel && "$(bin)/python" -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w build/wheel .
	@ls build/wheel/*.whl

site: $(call layer,site) ## for instructors: the course as a static site that checks in the browser, in SITE=build/site (SERVE=1: and show it; PYODIDE=cdn)
	@$(checker) site $(call argument,SITE) $(call option,--pyodide,PYODIDE) $(call option,--port,PORT) $(if $(SERVE),--serve)

test: $(call layer,test) ## the project's own tests, those that take long in slices: five minutes on two cores (SLICE=3: a slice again)
	@$(pytest) --slice "$${SLICE:-now}" $$TESTS

test-all: $(call layer,test) ## every test there is, and which slices of it passed here before: an hour or more on two cores
	@$(pytest) --slice all $$TESTS

test-costs: $(call layer,test) ## for authors: measure what tests cost, all or TESTS=…, for the slices: hours on two cores
	@"$(bin)/python" -m tests.costs $$TESTS

mutants: $(call layer,test) ## wrong kernels made by machine, of PUZZLE=p4 or of all: all must be refused (SLICE=3: a fiftieth)
	@"$(bin)/python" -m tests.mutation $(call argument,PUZZLE) $(call option,--slice,SLICE)

versions: $(call layer,test) ## the tests on every supported Python, the oldest and the newest triton and numpy (PYTHONS="python3.10 …", ONLY=hosted, hub or newest): half an hour
	@"$(bin)/python" -m tests.versions $(call option,--only,ONLY) $$PYTHONS

puzzle: $(call layer,test) ## for authors: begin a puzzle (ID=p8_row_max), or say what it lacks (ID=p8)
	@"$(bin)/python" -m tests.puzzle $(call argument,ID)

locks: $(call layer,test) ## for authors: pin all packages by hash again, after a change of constraints.txt
	@PATH="$$PWD/$(bin):$$PATH" "$(bin)/python" -m checker.publish.locks

size: $(call layer,check) ## for authors: how many lines of code, words and data there are, folder by folder
	@"$(bin)/python" -m tests.size

words: $(call layer,check) ## for authors: how long each lesson is
	@"$(bin)/python" -m tests.words

lint: $(call layer,test) ## style, types and house words
	@"$(bin)/ruff" check .
	@"$(bin)/ruff" format --check .
	@"$(bin)/mypy"
	@"$(bin)/python" -m tests.english
	@"$(bin)/python" -m checker.publish.translations
	@"$(bin)/deptry" . # every dependency is used, and what is used is one
	@"$(bin)/pip-licenses" >/dev/null # which pyproject.toml allows
	@"$(bin)/zizmor" --offline --quiet --min-severity medium .github

.venv/.layer-cluster: locks/cluster.txt .venv/.layer-lab
	@echo "Installing into .venv what grading on a cluster needs: $(cluster_size). This happens once."
	@$(call locked,check plot lab cluster)
	@touch $@

.venv/.layer-site: locks/site.txt .venv/.layer-check
	@echo "Installing into .venv what the site is made with: $(site_size). This happens once."
	@$(call locked,check site)
	@touch $@

.venv/.layer-test: locks/test.txt .venv/.layer-lab .venv/.layer-torch
	@echo "Installing into .venv what the project's own tests need: $(test_size). This happens once."
	@$(call locked,check plot lab cluster site test)
	@touch $@

needs-cluster: needs-lab
	@$(missing) distributed cryptography
needs-site: needs-check
	@$(missing) sphinx furo myst_parser
needs-test: needs-cluster needs-site needs-torch
	@$(missing) pytest xdist hypothesis ruff mypy
