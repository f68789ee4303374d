package org.apache.kafka.streams.processor.internals.assignment;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.ProcessId;

/**
 * Times Kafka Streams' HighAvailabilityTaskAssignor, and plays its probing rounds:
 * {@code StreamsBench TASKS INSTANCES STANDBYS WARM_UPS new|join|leave LONGEST_S ROUNDS_S}.
 *
 * <p>A copy that an instance begins to build has caught up by the next round. A copy that it drops is lost. The class is
 * in the package of the assignor, because the assignor's values are visible only there. It prints figures (seconds) as
 * lines of JSON, each as soon as it is known: first the version; then {@code first}, the first plan for this group; then
 * {@code warm}, the median after a warm-up; last the results of the rounds. The warm-up starts no plan after LONGEST_S,
 * nor do the plans for the median. No round but the first starts after ROUNDS_S.
 */
public final class StreamsBench {
    private static final long END = 150_000L;
    private static final long LATEST = -2L;
    private static final int TASKS_OF_A_SUBTOPOLOGY = 100;
    private static final double WARM_UP_S = 3;
    private static final int MOST_WARM_UPS = 500;
    private static final int RUNS = 5;

    private record Instance(ProcessId id, Set<TaskId> active, Set<TaskId> standby) {
        boolean has(TaskId task) {
            return active.contains(task) || standby.contains(task);
        }
    }

    private StreamsBench() { }

    public static void main(String[] arguments) {
        int count = Integer.parseInt(arguments[0]);
        int instances = Integer.parseInt(arguments[1]);
        AssignmentConfigs options = options(Integer.parseInt(arguments[3]), Integer.parseInt(arguments[2]));
        String event = arguments[4];

        Set<TaskId> tasks = new TreeSet<>();
        for (int i = 0; i < count; i++) {
            tasks.add(new TaskId(i / TASKS_OF_A_SUBTOPOLOGY, i % TASKS_OF_A_SUBTOPOLOGY));
        }
        List<Instance> group = new ArrayList<>();
        for (int i = 1; i <= instances; i++) {
            group.add(newcomer(i));
        }
        answer("\"java\": \"%s\"", System.getProperty("java.version"));
        if (!event.equals("new")) {
            Map<ProcessId, ClientState> settled = states(group, tasks);
            if (assign(settled, tasks, options)) {
                throw new IllegalStateException("a group that is all new does not settle at once");
            }
            group = after(settled);
        }
        switch (event) {
            case "new" -> { }
            case "join" -> group.add(newcomer(instances + 1));
            case "leave" -> group.remove(group.size() - 1);
            default -> throw new IllegalArgumentException(event);
        }
        time(group, tasks, options, Double.parseDouble(arguments[5]));
        play(group, tasks, options, Double.parseDouble(arguments[6]));
    }

    private static void time(List<Instance> group, Set<TaskId> tasks, AssignmentConfigs options, double longest) {
        answer("\"first\": %.6f", timed(group, tasks, options));
        double most = Math.min(WARM_UP_S, longest);
        double taken = 0;
        for (int i = 0; i < MOST_WARM_UPS && taken < most; i++) {
            taken += timed(group, tasks, options);
        }
        List<Double> warm = new ArrayList<>();
        for (taken = 0; warm.size() < RUNS && (warm.isEmpty() || taken < longest); ) {
            double took = timed(group, tasks, options);
            warm.add(took);
            taken += took;
        }
        double[] sorted = warm.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        answer("\"warm\": %.6f, \"runs\": %d", sorted[sorted.length / 2], sorted.length);
    }

    private static double timed(List<Instance> group, Set<TaskId> tasks, AssignmentConfigs options) {
        Map<ProcessId, ClientState> states = states(group, tasks);
        long started = System.nanoTime();
        assign(states, tasks, options);
        return seconds(started);
    }

    private static void play(List<Instance> group, Set<TaskId> tasks, AssignmentConfigs options, double patience) {
        Map<TaskId, ProcessId> before = new HashMap<>();
        for (Instance instance : group) {
            for (TaskId task : instance.active()) {
                before.put(task, instance.id());
            }
        }
        Map<TaskId, ProcessId> owner = new HashMap<>(before);
        int rounds = 0;
        long handed = 0;
        long built = 0;
        boolean waiting = true;
        long started = System.nanoTime();
        while (waiting && (rounds == 0 || seconds(started) < patience)) {
            Map<ProcessId, ClientState> states = states(group, tasks);
            waiting = assign(states, tasks, options);
            rounds++;
            Map<ProcessId, Instance> had = new HashMap<>();
            for (Instance instance : group) {
                had.put(instance.id(), instance);
            }
            group = after(states);
            for (Instance instance : group) {
                Instance old = had.get(instance.id());
                for (TaskId task : instance.active()) {
                    ProcessId last = owner.put(task, instance.id());
                    handed += last != null && !last.equals(instance.id()) ? 1 : 0;
                    built += old.has(task) ? 0 : 1;
                }
                for (TaskId task : instance.standby()) {
                    built += old.has(task) ? 0 : 1;
                }
            }
        }
        long moved = before.entrySet().stream().filter(e -> !e.getValue().equals(owner.get(e.getKey()))).count();
        answer("\"rounds\": %d, \"settled\": %b, \"built\": %d, \"moved\": %d, \"handed\": %d",
                rounds, !waiting, built, moved, handed);
    }

    private static Instance newcomer(int number) {
        return new Instance(new ProcessId(new UUID(0, number)), new TreeSet<>(), new TreeSet<>());
    }

    private static Map<ProcessId, ClientState> states(Collection<Instance> group, Collection<TaskId> tasks) {
        Map<ProcessId, ClientState> states = new TreeMap<>();
        Long end = END; // one object for the lags of all instances
        for (Instance instance : group) {
            Map<TaskId, Long> lags = new HashMap<>();
            for (TaskId task : tasks) {
                lags.put(task, instance.active().contains(task) ? (Long) LATEST : instance.standby().contains(task) ? (Long) 0L : end);
            }
            states.put(instance.id(), new ClientState(
                    instance.active(), instance.standby(), lags, Map.of(), 1, instance.id()));
        }
        return states;
    }

    private static List<Instance> after(Map<ProcessId, ClientState> states) {
        List<Instance> group = new ArrayList<>();
        states.forEach((id, state) -> group.add(
                new Instance(id, new TreeSet<>(state.activeTasks()), new TreeSet<>(state.standbyTasks()))));
        return group;
    }

    private static boolean assign(Map<ProcessId, ClientState> states, Set<TaskId> tasks, AssignmentConfigs options) {
        RackAwareTaskAssignor noRacks = new RackAwareTaskAssignor(
                Cluster.empty(), Map.of(), Map.of(), Map.of(), Map.of(), null, options, Time.SYSTEM);
        return new HighAvailabilityTaskAssignor().assign(states, tasks, tasks, noRacks, options);
    }

    private static AssignmentConfigs options(int warmUps, int standbys) {
        return new AssignmentConfigs(10_000L, warmUps, standbys, 600_000L,
                List.of(), OptionalInt.empty(), OptionalInt.empty(), "none");
    }

    private static double seconds(long started) {
        return (System.nanoTime() - started) / 1e9;
    }

    private static void answer(String format, Object... values) {
        System.out.println("{" + String.format(Locale.ROOT, format, values) + "}");
    }
}
