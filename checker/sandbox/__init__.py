"""A sandbox for untrusted code.

A `Host` says where: in processes next to the checker's, in a cage (`cage/`), or, without Triton's binary (`standin`),
in `one_process`, or `in_process`, the checker's own. A server is a child process that has imported Triton: `host`
starts it, `inside/harness` is its main. For each request it forks *runners*, one for each pass (`inside/runner`). Their
answers come back through an `Exchange`, as bytes, and are believed only after `protocol/` has checked their form.
`inside/` and `protocol/` are all that a cage shows of the checker. This package imports no other one, so nothing
that the judge knows can be found from inside.

What stops which attack. Names are of files in `tests/hostile`, which all fail without the lint as well; those that
begin with test_ are of tests in `tests/sandbox`. The first two are the wall in practice, with the cage it is the wall
in grading; the others limit what may be used, or catch what is left if a layer before them is missing. The same layers
hold programs of PyTorch (`tests/hostile/pytorch.toml`); `inside/pytorch` also refuses operations that are not on its
list.

    filter of runners (inside/seccomp)   p1_fork_bomb, p1_thread_bomb, p1_subprocess, p1_daemon, p1_network,
                                         p1_kill_parent, p1_signal_by_descriptor, p1_litter, p1_symlinks,
                                         p1_lasting_settings, p1_lift_limits
    nothing open but a runner's own      p1_answer_pipe, p1_closed_descriptors
    mounts and namespaces (cage/)        p1_reads_the_course, p1_reads_solutions, p1_through_other_roots,
                                         p1_watches_processes, p1_network and p1_daemon without the filter
    filter of the cage (inside/seccomp)  p1_mounts, p1_kernel_services
    a user for each cage (cage/slots)    test_no_other_process_is_seen_or_reached, test_two_cages_never_share_a_user
    limit on address space               p1_memory_bomb, p1_memory_bomb_at_once, p1_huge_number, p1_wide_text
    work that is counted (inside/budget) p1_endless_loop, p1_long_loop
    clocks of CPU time                   p1_deaf, test_what_counts_nothing_is_ended_by_its_own_clock
    limits on files, processes, dumps    p1_huge_file, p1_fork_bomb without the filter, for users other than root
    sleep that nothing will end          p1_sleep, p1_outlives_its_parent
    bytes printed and answered           p1_output_flood, p1_error_flood
    length of headers, number of buffers p1_heavy_header, test_many_empty_buffers_take_no_memory
    form of answers (protocol/results)   p1_forged_answers, p1_forged_refusal, p2_enormous_barrier
    one request for each process         p1_keeps_state, p1_patched_modules, test_nothing_of_a_submission_is_left_…
    servers cannot be looked into        test_no_memory_of_a_process_can_be_read

Nothing outlives a check, whatever has happened to whom:

    parent-death signal                  the checker or a server was killed: test_the_cage_ends_with_the_checker
    servers adopt strays, and end them   a runner left processes behind: test_without_the_filter_strays_are_still_ended
    descendants and group are killed     the server itself was stopped, without the filter: p1_stop_parent
    the cage's first process is awaited  bubblewrap is gone before what was in it: test_the_end_is_awaited
"""
