import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.utils.AppInfoParser;

/**
 * Times an assignor of kafka-clients on one group: {@code AssignBench sticky|cooperative GROUP PLAN LONGEST_S LIMIT_S}.
 *
 * <p>GROUP has the bytes that the members sent, in the format of bench/groups.py. This program decodes them as Java's
 * coordinator does, and writes the assignments to PLAN. It prints figures (seconds) as lines of JSON, each as soon as it
 * is known. First come the versions, once the group is read. Then comes {@code first}: the first {@code assign()} of
 * this JVM with the encoding of all assignments. Last come medians of warm calls: {@code assign}, and {@code total} with
 * the encoding.
 *
 * <p>The warm-up starts no call after LONGEST_S, nor do the calls for the medians. After a first call of more than
 * LONGEST_S there is no warm-up; after one of more than LIMIT_S there are no medians.
 */
public class AssignBench {
    private static final double WARM_UP_S = 1.5;
    private static final double ENOUGH_S = 0.5;
    private static final int LEAST_RUNS = 3;
    private static final int MOST_RUNS = 101;

    /** One call: seconds until the plan was made ({@code assign}), and until it was encoded ({@code total}). */
    record Run(double assign, double total, Map<String, ByteBuffer> plan) {}

    public static void main(String[] args) throws IOException {
        Supplier<ConsumerPartitionAssignor> assignor = switch (args[0]) {
            case "sticky" -> StickyAssignor::new;
            case "cooperative" -> CooperativeStickyAssignor::new;
            default -> throw new IllegalArgumentException(args[0]);
        };
        Cluster cluster;
        Map<String, Subscription> subscriptions;
        try (var in = new DataInputStream(new BufferedInputStream(Files.newInputStream(Path.of(args[1])), 1 << 16))) {
            cluster = cluster(in);
            subscriptions = subscriptions(in);
        }
        answer("\"java\": \"%s\", \"kafka_clients\": \"%s\"", System.getProperty("java.version"), AppInfoParser.getVersion());

        double longest = Double.parseDouble(args[3]);
        System.gc(); // the garbage of reading must not slow down the assignor
        Run first = run(assignor.get(), cluster, subscriptions);
        answer("\"first\": %.9f", first.total());
        write(Path.of(args[2]), first.plan());
        if (first.total() > Double.parseDouble(args[4])) {
            return;
        }
        if (first.total() <= longest) { // a longer call has already warmed up the JVM
            repeated(assignor, cluster, subscriptions, 1, Integer.MAX_VALUE, WARM_UP_S, longest);
        }
        List<Run> runs = repeated(assignor, cluster, subscriptions, LEAST_RUNS, MOST_RUNS, ENOUGH_S, longest);
        double assign = median(runs.stream().mapToDouble(Run::assign).toArray());
        double total = median(runs.stream().mapToDouble(Run::total).toArray());
        answer("\"assign\": %.9f, \"total\": %.9f, \"runs\": %d", assign, total, runs.size());
    }

    /** Runs for {@code enough} seconds, at least {@code least} times; starts only the first run after {@code longest} s. */
    private static List<Run> repeated(
            Supplier<ConsumerPartitionAssignor> assignor, Cluster cluster, Map<String, Subscription> subscriptions,
            int least, int most, double enough, double longest) {
        List<Run> runs = new ArrayList<>();
        long started = System.nanoTime();
        double taken = 0;
        while (runs.size() < most && (runs.isEmpty() || taken < longest && (taken < enough || runs.size() < least))) {
            Run run = run(assignor.get(), cluster, subscriptions);
            runs.add(new Run(run.assign(), run.total(), Map.of())); // the plan would only fill the heap
            taken = seconds(started);
        }
        return runs;
    }

    private static Run run(ConsumerPartitionAssignor assignor, Cluster cluster, Map<String, Subscription> subscriptions) {
        // StickyAssignor reads the user data without a copy, and leaves the position of the buffer at its end.
        for (Subscription subscription : subscriptions.values()) {
            if (subscription.userData() != null) {
                subscription.userData().rewind();
            }
        }
        GroupSubscription group = new GroupSubscription(subscriptions);
        long started = System.nanoTime();
        Map<String, Assignment> assignments = assignor.assign(cluster, group).groupAssignment();
        double assign = seconds(started);
        Map<String, ByteBuffer> plan = new HashMap<>();
        assignments.forEach((member, assignment) -> plan.put(member, ConsumerProtocol.serializeAssignment(assignment)));
        return new Run(assign, seconds(started), plan);
    }

    private static Cluster cluster(DataInputStream in) throws IOException {
        Node node = new Node(0, "localhost", 9092);
        Node[] nodes = {node};
        List<PartitionInfo> partitions = new ArrayList<>();
        for (int topics = in.readInt(); topics > 0; topics--) {
            String topic = in.readUTF();
            int count = in.readInt();
            for (int p = 0; p < count; p++) {
                partitions.add(new PartitionInfo(topic, p, node, nodes, nodes));
            }
        }
        return new Cluster("cluster", List.of(node), partitions, Set.of(), Set.of());
    }

    private static Map<String, Subscription> subscriptions(DataInputStream in) throws IOException {
        Map<String, Subscription> subscriptions = new LinkedHashMap<>();
        for (int members = in.readInt(); members > 0; members--) {
            String member = in.readUTF();
            ByteBuffer sent = ByteBuffer.wrap(in.readNBytes(in.readInt()));
            Subscription subscription = ConsumerProtocol.deserializeSubscription(sent);
            ByteBuffer userData = subscription.userData();
            subscriptions.put(member, new Subscription(
                    subscription.topics(), userData == null ? null : userData.slice(), // from 0, so that it can be rewound
                    subscription.ownedPartitions(), subscription.generationId().orElse(-1), subscription.rackId()));
        }
        return subscriptions;
    }

    private static void write(Path path, Map<String, ByteBuffer> plan) throws IOException {
        try (var out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(path), 1 << 16))) {
            out.writeInt(plan.size());
            for (Map.Entry<String, ByteBuffer> member : plan.entrySet()) {
                byte[] bytes = new byte[member.getValue().remaining()];
                member.getValue().duplicate().get(bytes);
                out.writeUTF(member.getKey());
                out.writeInt(bytes.length);
                out.write(bytes);
            }
        }
    }

    private static double median(double[] values) {
        Arrays.sort(values);
        int middle = values.length / 2;
        return values.length % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    }

    private static double seconds(long started) {
        return (System.nanoTime() - started) / 1e9;
    }

    private static void answer(String format, Object... values) {
        System.out.println("{" + String.format(Locale.ROOT, format, values) + "}");
    }
}
