import java.nio.file.*;
import java.util.*;
import java.util.stream.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.AppInfoParser;

/**
 * Writes what the assignors of kafka-clients plan for small groups: {@code GoldenPlans OUT.json}.
 *
 * <p>One seed decides everything, and no JDK collection whose order changes from run to run: each run writes the same.
 */
public class GoldenPlans {
    private static final long SEED = 54;
    private static final int GROUPS_A_KIND = 12;
    private static final int GENERATION = 5;
    // Orders that trap: 10 before 2, capitals before small letters, instance ids that oppose member ids.
    private static final List<String> MEMBERS = List.of("m-1", "m-2", "m-10", "B", "a", "z-9");
    private static final List<String> INSTANCES = List.of("s-10", "s-2", "q", "A", "0");
    private static final List<String> TOPICS = List.of("t2", "t10", "T", "a.b", "a-b", "z_");

    /** A member as the leader sees it; {@code generation} is null when it never had an assignment. */
    record Member(
            String id, String instanceId, List<String> topics,
            SortedMap<String, List<Integer>> owned, Integer generation) {}

    /** The partition count of every topic of the cluster, and the members in no particular order. */
    record Group(SortedMap<String, Integer> topics, List<Member> members) {}

    public static void main(String[] args) throws Exception {
        Random random = new Random(SEED);
        List<Object> groups = new ArrayList<>();
        for (String subscriptions : List.of("identical", "differing")) {
            for (String history : List.of("fresh", "settled", "conflicting")) {
                for (int i = 0; i < GROUPS_A_KIND; i++) {
                    Group bare = group(random, subscriptions.equals("identical"));
                    Group group = switch (history) {
                        case "settled" -> settled(random, bare);
                        case "conflicting" -> conflicting(random, bare);
                        default -> bare;
                    };
                    groups.add(describe("%s-%s-%02d".formatted(subscriptions, history, i), group));
                }
            }
        }
        Map<String, Object> golden = new LinkedHashMap<>();
        golden.put("kafka_clients", AppInfoParser.getVersion());
        golden.put("seed", SEED);
        golden.put("groups", groups);
        Files.writeString(Path.of(args[0]), pretty(golden, "") + "\n");
    }

    // ---- groups

    /** One to six members without a history; a topic may be empty, unknown to the cluster, or nobody's. */
    private static Group group(Random random, boolean identical) {
        List<String> names = shuffled(random, TOPICS).subList(0, 1 + random.nextInt(5));
        SortedMap<String, Integer> topics = new TreeMap<>();
        names.forEach(name -> topics.put(name, random.nextInt(9)));
        List<String> subscribable = new ArrayList<>(names);
        if (names.size() > 1 && random.nextInt(4) == 0) subscribable.remove(0);
        if (random.nextInt(4) == 0) subscribable.add("unknown");
        List<String> instances = shuffled(random, INSTANCES);
        List<Member> members = new ArrayList<>();
        for (String id : shuffled(random, MEMBERS).subList(0, 1 + random.nextInt(6))) {
            boolean isStatic = members.size() < instances.size() && random.nextInt(3) == 0;
            List<String> subscribed = identical
                    ? subscribable
                    : subscribable.stream().filter(topic -> random.nextInt(5) < 3).toList();
            String instanceId = isStatic ? instances.get(members.size()) : null;
            members.add(new Member(id, instanceId, shuffled(random, subscribed), new TreeMap<>(), null));
        }
        return new Group(topics, members);
    }

    /** Members own what StickyAssignor gave them before someone joined, left or changed topics, or a topic grew. */
    private static Group settled(Random random, Group group) {
        SortedMap<String, Integer> topicsBefore = new TreeMap<>(group.topics());
        if (random.nextInt(3) == 0) topicsBefore.replaceAll((topic, count) -> Math.max(count - 2, 0));
        List<Member> before = new ArrayList<>(group.members());
        List<String> all = List.copyOf(group.topics().keySet());
        int change = random.nextInt(4); // 0 joined, 1 joined and left, 2 left, 3 left and changed topics
        if (change <= 1 && before.size() > 1) before.remove(random.nextInt(before.size()));
        if (change >= 1) before.add(new Member("gone", null, all, new TreeMap<>(), null));
        if (change == 3) {
            Member changed = before.remove(0);
            before.add(new Member(changed.id(), changed.instanceId(), all, new TreeMap<>(), null));
        }
        Set<String> ids = before.stream().map(Member::id).collect(Collectors.toSet());
        var owned = plan(new StickyAssignor(), new Group(topicsBefore, before));
        return new Group(group.topics(), group.members().stream()
                .map(m -> ids.contains(m.id()) ? with(m, owned.get(m.id()), GENERATION) : m)
                .toList());
    }

    /** Members of differing generations claim what they like among their topics, one partition at most twice. */
    private static Group conflicting(Random random, Group group) {
        List<Member> members = new ArrayList<>();
        for (Member m : group.members()) {
            members.add(with(m, new TreeMap<>(), random.nextInt(2) == 0 ? GENERATION - 1 : GENERATION));
        }
        group.topics().forEach((topic, count) -> {
            List<Member> subscribers = members.stream().filter(m -> m.topics().contains(topic)).toList();
            for (int partition = 0; partition < count; partition++) {
                int claimants = Math.min(random.nextInt(6) * 2 / 5, subscribers.size()); // none, one or two
                for (Member m : shuffled(random, subscribers).subList(0, claimants)) {
                    m.owned().computeIfAbsent(topic, t -> new ArrayList<>()).add(partition);
                }
            }
        });
        return new Group(group.topics(), members);
    }

    private static Member with(Member member, SortedMap<String, List<Integer>> owned, int generation) {
        return new Member(member.id(), member.instanceId(), member.topics(), owned, generation);
    }

    private static <T> List<T> shuffled(Random random, List<T> values) {
        List<T> copy = new ArrayList<>(values);
        Collections.shuffle(copy, random);
        return copy;
    }

    // ---- plans

    /** The plan by member: partitions of each topic, all sorted. Through the public API, as a leader would. */
    private static SortedMap<String, SortedMap<String, List<Integer>>> plan(
            ConsumerPartitionAssignor assignor, Group group) {
        Node node = new Node(0, "localhost", 9092);
        Node[] nodes = {node};
        List<PartitionInfo> infos = new ArrayList<>();
        group.topics().forEach((topic, count) -> IntStream.range(0, count)
                .forEach(partition -> infos.add(new PartitionInfo(topic, partition, node, nodes, nodes))));
        Cluster cluster = new Cluster("cluster", List.of(node), infos, Set.of(), Set.of());

        Map<String, Subscription> subscriptions = new LinkedHashMap<>();
        for (Member m : group.members()) {
            StickyAssignor memory = new StickyAssignor();
            if (m.generation() != null) {
                List<TopicPartition> owned = new ArrayList<>();
                m.owned().forEach((topic, partitions) -> partitions.forEach(
                        partition -> owned.add(new TopicPartition(topic, partition))));
                var metadata = new ConsumerGroupMetadata("group", m.generation(), m.id(), Optional.empty());
                memory.onAssignment(new Assignment(owned), metadata);
            }
            boolean sticky = assignor instanceof StickyAssignor;
            var userData = sticky ? memory.subscriptionUserData(new TreeSet<>(m.topics())) : null;
            Subscription subscription = new Subscription(m.topics(), userData);
            subscription.setGroupInstanceId(Optional.ofNullable(m.instanceId()));
            subscriptions.put(m.id(), subscription);
        }

        SortedMap<String, SortedMap<String, List<Integer>>> plan = new TreeMap<>();
        assignor.assign(cluster, new GroupSubscription(subscriptions)).groupAssignment().forEach((id, assignment) -> {
            SortedMap<String, List<Integer>> byTopic = new TreeMap<>();
            for (TopicPartition tp : assignment.partitions()) {
                byTopic.computeIfAbsent(tp.topic(), t -> new ArrayList<>()).add(tp.partition());
            }
            byTopic.values().forEach(Collections::sort);
            plan.put(id, byTopic);
        });
        return plan;
    }

    private static Map<String, Object> describe(String name, Group group) {
        List<Object> members = new ArrayList<>();
        for (Member m : group.members()) {
            members.add(entry("id", m.id(), "instance_id", m.instanceId(), "topics", m.topics(),
                    "owned", m.owned(), "generation", m.generation()));
        }
        var sticky = plan(new StickyAssignor(), group);
        List<Integer> loads = sticky.values().stream()
                .map(topics -> topics.values().stream().mapToInt(List::size).sum()).sorted().toList();
        return entry("name", name, "topics", group.topics(), "members", members,
                "range", plan(new RangeAssignor(), group), "roundrobin", plan(new RoundRobinAssignor(), group),
                "sticky", entry("loads", loads, "sum_of_squares", loads.stream().mapToInt(load -> load * load).sum(),
                        "kept", kept(group, sticky), "valid", isValid(group, sticky), "plan", sticky));
    }

    /**
     * Whether members get only what they subscribe to. StickyAssignor breaks this when the first member it meets has no
     * topics and all others have the same ones: it then takes the subscriptions for equal.
     */
    private static boolean isValid(Group group, SortedMap<String, SortedMap<String, List<Integer>>> plan) {
        return group.members().stream().allMatch(m -> m.topics().containsAll(plan.get(m.id()).keySet()));
    }

    /** How many partitions stay with their owner: who claims them in the highest generation, if that is one member. */
    private static int kept(Group group, SortedMap<String, SortedMap<String, List<Integer>>> plan) {
        Map<TopicPartition, List<Member>> claims = new HashMap<>();
        for (Member m : group.members()) {
            m.owned().forEach((topic, partitions) -> partitions.forEach(
                    p -> claims.computeIfAbsent(new TopicPartition(topic, p), tp -> new ArrayList<>()).add(m)));
        }
        int kept = 0;
        for (Map.Entry<TopicPartition, List<Member>> claim : claims.entrySet()) {
            int highest = claim.getValue().stream().mapToInt(Member::generation).max().getAsInt();
            List<Member> latest = claim.getValue().stream().filter(m -> m.generation() == highest).toList();
            List<Integer> stayed = plan.get(latest.get(0).id()).getOrDefault(claim.getKey().topic(), List.of());
            if (latest.size() == 1 && stayed.contains(claim.getKey().partition())) kept++;
        }
        return kept;
    }

    // ---- JSON: a value stays on one line where that is short enough

    private static Map<String, Object> entry(Object... namesAndValues) {
        Map<String, Object> entry = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) entry.put((String) namesAndValues[i], namesAndValues[i + 1]);
        return entry;
    }

    private static String pretty(Object value, String indent) {
        String deeper = indent + "  ";
        List<String> parts;
        if (value instanceof Map<?, ?> map) {
            parts = map.entrySet().stream()
                    .map(e -> "\"" + e.getKey() + "\": " + pretty(e.getValue(), deeper)).toList();
        } else if (value instanceof Collection<?> list) {
            parts = list.stream().map(element -> pretty(element, deeper)).toList();
        } else {
            return value instanceof String ? "\"" + value + "\"" : String.valueOf(value);
        }
        String open = value instanceof Map ? "{" : "[";
        String close = value instanceof Map ? "}" : "]";
        String line = open + String.join(", ", parts) + close;
        boolean fits = indent.length() + line.length() <= 140 && !line.contains("\n");
        return fits ? line : open + "\n" + deeper + String.join(",\n" + deeper, parts) + "\n" + indent + close;
    }
}
