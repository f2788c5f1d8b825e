// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Gives QEMU's 'edu' PCI devices the identity of NVIDIA GPUs: vendor, device and class in sysfs, the character
 * devices (major 195: minor N is GPU N, 255 is nvidiactl; nvidia-uvm's major is dynamic, as NVIDIA's), which can be
 * opened and mapped, and /proc/driver/nvidia.  The NUMA node and the place in the PCI tree stay the kernel's own.
 *
 * Pages are inserted one by one into VM_MIXEDMAP mappings, as NVIDIA's nv-mmap.c does with vm_insert_page, so they
 * show in numa_maps; they come from the node of the CPU that touches them.
 *
 *   memory_nodes=2,3   GPU 0's own memory is NUMA node 2, GPU 1's is node 3 (numa_status, as on GH200)
 */
#include <linux/cdev.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/version.h>

#define MOST_GPUS 16
#define FRONT_MAJOR 195
#define CONTROL_MINOR 255

static int memory_nodes[MOST_GPUS];
static int memory_nodes_given;
module_param_array(memory_nodes, int, &memory_nodes_given, 0444);

static struct pci_dev *gpus[MOST_GPUS];
static int gpus_found;
static struct proc_dir_entry *gpu_folder;
static struct cdev front, uvm;

static vm_fault_t give_page(struct vm_fault *fault)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	vm_fault_t result;

	if (!page)
		return VM_FAULT_OOM;
	result = vmf_insert_page(fault->vma, fault->address, page);
	put_page(page); /* the mapping holds it now */
	return result;
}

static const struct vm_operations_struct mapping = { .fault = give_page };

static int map(struct file *file, struct vm_area_struct *vma)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP);
#else
	vma->vm_flags |= VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP;
#endif
	vma->vm_ops = &mapping;
	return 0;
}

static int open_node(struct inode *inode, struct file *file)
{
	unsigned int minor = iminor(inode);

	return imajor(inode) == FRONT_MAJOR && minor != CONTROL_MINOR && minor >= gpus_found ? -ENODEV : 0;
}

static const struct file_operations node = { .owner = THIS_MODULE, .open = open_node, .mmap = map };

static int show_version(struct seq_file *out, void *unused)
{
	seq_puts(out, "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.90.07  Release Build\n");
	return 0;
}

static int show_information(struct seq_file *out, void *unused)
{
	int minor = (int)(uintptr_t)out->private;

	seq_puts(out, "Model: \t\t NVIDIA H100 80GB HBM3\n");
	seq_printf(out, "IRQ:   \t\t %d\n", gpus[minor]->irq);
	seq_printf(out, "GPU UUID: \t GPU-00000000-0000-4000-8000-%012d\n", minor);
	seq_puts(out, "Video BIOS: \t 96.00.74.00.01\nBus Type: \t PCIe\n");
	seq_puts(out, "DMA Size: \t 52 bits\nDMA Mask: \t 0xfffffffffffff\n");
	seq_printf(out, "Bus Location: \t %s\nDevice Minor: \t %d\n", pci_name(gpus[minor]), minor);
	seq_puts(out, "GPU Firmware: \t 550.90.07\nGPU Excluded:\t No\n");
	return 0;
}

static int show_numa_status(struct seq_file *out, void *unused)
{
	int minor = (int)(uintptr_t)out->private;

	seq_printf(out, "Node:      %d\nStatus:    online\n", memory_nodes[minor]);
	seq_puts(out, "Address:   40000000000\nSize:      3f0000000\n");
	return 0;
}

static int probe(struct pci_dev *gpu, const struct pci_device_id *id)
{
	void *minor = (void *)(uintptr_t)gpus_found;
	struct proc_dir_entry *folder;

	if (gpus_found == MOST_GPUS)
		return -ENOSPC;
	/* sysfs prints these fields and lspci reads sysfs; the config space still says 1234:11e8 */
	gpu->vendor = PCI_VENDOR_ID_NVIDIA;
	gpu->device = 0x2330;
	gpu->subsystem_vendor = PCI_VENDOR_ID_NVIDIA;
	gpu->subsystem_device = 0x16c1;
	gpu->class = PCI_CLASS_DISPLAY_3D << 8;
	folder = proc_mkdir(pci_name(gpu), gpu_folder);
	proc_create_single_data("information", 0444, folder, show_information, minor);
	if (gpus_found < memory_nodes_given)
		proc_create_single_data("numa_status", 0444, folder, show_numa_status, minor);
	gpus[gpus_found++] = gpu;
	return 0;
}

static const struct pci_device_id edu[] = { { PCI_DEVICE(0x1234, 0x11e8) }, {} };
static struct pci_driver driver = { .name = "nvidia", .id_table = edu, .probe = probe };

static int __init start(void)
{
	struct proc_dir_entry *folder = proc_mkdir("driver/nvidia", NULL);
	dev_t uvm_number;
	int status;

	if (!folder)
		return -ENOMEM;
	gpu_folder = proc_mkdir("gpus", folder);
	proc_create_single_data("version", 0444, folder, show_version, NULL);

	cdev_init(&front, &node);
	cdev_init(&uvm, &node);
	status = register_chrdev_region(MKDEV(FRONT_MAJOR, 0), CONTROL_MINOR + 1, "nvidia-frontend") ?:
		 alloc_chrdev_region(&uvm_number, 0, 2, "nvidia-uvm") ?:
		 cdev_add(&front, MKDEV(FRONT_MAJOR, 0), CONTROL_MINOR + 1) ?:
		 cdev_add(&uvm, uvm_number, 2) ?:
		 pci_register_driver(&driver);
	return status;
}

module_init(start); /* no exit: the guest is thrown away */
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("NVIDIA identity and device nodes for QEMU's edu devices");
